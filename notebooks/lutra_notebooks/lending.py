"""A kernel, a surrogate or an acquisition that was written in a notebook, as if an installed package brought it."""

from lutra_models.extensions import forget
from lutra_models.gp import lend

__all__ = ["forget", "lend"]
