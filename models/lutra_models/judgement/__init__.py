"""The effect of a change on a live database, at comparable load: a ratio with its interval, or that no difference was
seen.
"""

from lutra_models.judgement.busyness import (
    MARKED,
    as_now,
    busy_among,
    busy_elsewhere,
    lost_share,
    taken_share,
)
from lutra_models.judgement.comparison import LEVEL, Judgement, judge, sentence
from lutra_models.judgement.loaded import LIKE, LoadedWindow

__all__ = [
    "LEVEL",
    "LIKE",
    "MARKED",
    "Judgement",
    "LoadedWindow",
    "as_now",
    "busy_among",
    "busy_elsewhere",
    "judge",
    "lost_share",
    "sentence",
    "taken_share",
]
