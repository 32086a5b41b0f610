"""The recommender: history in, recommendation out. Names are resolved on first use, so that importing costs nothing.

`fit`, `recommend`, `handover` and `Model` bring GPy with them; `Snapshot` needs numpy alone, `Options` nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lutra_models.gp.documents.parts import lend
    from lutra_models.gp.fitted.snapshot import Snapshot
    from lutra_models.gp.model import Model
    from lutra_models.gp.options import Options
    from lutra_models.gp.recommender import fit, handover, recommend

__all__ = ["Model", "Options", "Snapshot", "fit", "handover", "lend", "recommend"]

_HOMES = {
    "Model": "model",
    "Options": "options",
    "Snapshot": "fitted.snapshot",
    "fit": "recommender",
    "handover": "recommender",
    "lend": "documents.parts",
    "recommend": "recommender",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
