"""The effect of a change on a live database, at comparable load: a ratio with its interval, or that no difference was
seen.
"""

from lutra_models.judgement.busyness import (
    HOST,
    MARKED,
    as_now,
    busy_among,
    busy_elsewhere,
    lost_share,
    taken_share,
)
from lutra_models.judgement.comparison import LEVEL, Judgement, judge, sentence
from lutra_models.judgement.lasting import JUST_AFTER_S, SPAN_S, STEP_S, Lasting, Lasts, lasts, spaced
from lutra_models.judgement.loaded import LIKE, LoadedWindow

__all__ = [
    "HOST",
    "JUST_AFTER_S",
    "LEVEL",
    "LIKE",
    "MARKED",
    "SPAN_S",
    "STEP_S",
    "Judgement",
    "Lasting",
    "Lasts",
    "LoadedWindow",
    "as_now",
    "busy_among",
    "busy_elsewhere",
    "judge",
    "lasts",
    "lost_share",
    "sentence",
    "spaced",
    "taken_share",
]
