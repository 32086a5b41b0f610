"""What a change did on a live database, at like load: a ratio with its interval, or that no difference was seen."""

from lutra_models.judgement.busyness import MARKED, busy_among, busy_elsewhere, lost_share
from lutra_models.judgement.comparison import Judgement, judge
from lutra_models.judgement.loaded import LIKE, LoadedWindow
from lutra_models.judgement.words import sentence

__all__ = [
    "LIKE",
    "MARKED",
    "Judgement",
    "LoadedWindow",
    "busy_among",
    "busy_elsewhere",
    "judge",
    "lost_share",
    "sentence",
]
