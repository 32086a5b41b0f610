"""The recommender: history in, recommendation out. Names are resolved on first use, so that importing costs nothing.

`Tuner`, `fit`, `recommend` and `Model` import GPy; `Snapshot` needs numpy alone, `Options` and its rooms need nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lutra_models.gp.fitted.snapshot import Snapshot
    from lutra_models.gp.model import Model
    from lutra_models.gp.options import Options, Search, Surrogates
    from lutra_models.gp.recommender import Tuner, fit, recommend

__all__ = ["Model", "Options", "Search", "Snapshot", "Surrogates", "Tuner", "fit", "recommend"]

_HOMES = {
    "Model": "model",
    "Options": "options",
    "Search": "options",
    "Snapshot": "fitted.snapshot",
    "Surrogates": "options",
    "Tuner": "recommender",
    "fit": "recommender",
    "recommend": "recommender",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
