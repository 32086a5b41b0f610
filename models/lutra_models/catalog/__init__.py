"""Knowledge about each engine's settings as data, combined with the report of a live server."""

from lutra_models.catalog.changes import Change, ChangeSteps
from lutra_models.catalog.files import engines, own_engines
from lutra_models.catalog.live import LiveSettings, meet
from lutra_models.catalog.reported import did_you_mean
from lutra_models.catalog.rows import Catalog, KnobRow, load, of_engine

__all__ = [
    "Catalog",
    "Change",
    "ChangeSteps",
    "KnobRow",
    "LiveSettings",
    "did_you_mean",
    "engines",
    "load",
    "meet",
    "of_engine",
    "own_engines",
]
