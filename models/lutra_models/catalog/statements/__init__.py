"""The steps of a change, rendered once: the operator sees exactly what the agent executes."""

from lutra_models.catalog.statements.renderers import RENDERERS, as_text, renderer, to_paste
from lutra_models.catalog.statements.steps import FileLine, Renderer, Statement, Step

__all__ = [
    "RENDERERS",
    "FileLine",
    "Renderer",
    "Statement",
    "Step",
    "as_text",
    "renderer",
    "to_paste",
]
