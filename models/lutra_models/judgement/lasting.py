"""Does a reported gain still hold? A pure function of windows of the last day, of those just after the change and
of those before it, compared at comparable load.

A gain has decayed if the metric is worse than just after the change by more than a tolerance, with certainty. Slow
changes of a server, whose cause is unknown, stay below the tolerance; a level that lasts is not noise here, for the
question is what holds, and not why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from lutra_models.judgement.comparison import LEAST, Judgement, compared, compared_with
from lutra_models.judgement.loaded import LIKE, REACHED, LoadedWindow, at_like_load
from lutra_models.metrics import QPS, TPS, Objective

Lasts = Literal["holds", "decayed", "unknown"]
JUST_AFTER_S = 12 * 3600.0
"""The time after a change whose windows say what it gained: half a day has most loads of a day."""
SPAN_S = 24 * 3600.0
"""The span of the later windows, and of those before the change: a load repeats daily."""
STEP_S = 300.0
"""The least time between two windows that count."""
NEWEST = 96
"""The newest later windows at comparable load: those from before a decay would hide it."""
AN_HOUR = 12
"""The windows at STEP_S in an hour."""
LONGEST_S = 1800.0
"""A deviation that lasts longer is a level, and not noise."""
TOLERANCE = 0.1
CERTAIN = 0.95
"""The certainty with which the metric is worse by more than the tolerance. Over a week of looks, the tolerance itself
leaves little room for false alarms.
"""
QUARTER = 1.25
"""A gain holds if a loss of a quarter is unlikely: by the end of the interval."""


@dataclass(frozen=True)
class Lasting:
    """`since` compares the last day with the time just after the change, and `held` with the time before it.

    Each is None without windows at comparable load. `because` says why nothing is known, otherwise it is empty.
    `is_over`: something else changed, and a later look tells no more.
    """

    state: Lasts
    because: str = ""
    since: Judgement | None = None
    held: Judgement | None = None
    is_over: bool = False

    @property
    def sentence(self) -> str:
        """As in "decayed: p99_ms 24 % higher than just after the change (90 % interval: …), 12 % lower than before"."""
        head = f"unknown, because {self.because}" if self.state == "unknown" else self.state
        told = [compared_with(self.since, "just after the change"), compared_with(self.held, "before it")]
        return ": ".join(part for part in (head, ", ".join(filter(None, told))) if part)


def lasts(
    before: Sequence[LoadedWindow],
    just_after: Sequence[LoadedWindow],
    later: Sequence[LoadedWindow],
    objective: Objective,
) -> Lasting:
    """Whether the gain of the change still holds. Windows under the same settings have the same `group`: of later
    windows under others nothing is concluded.
    """
    if not later or not just_after:
        return Lasting("unknown", f"there are no windows of the {'last day' if just_after else 'time just after it'}")
    if {w.group for w in later} != {w.group for w in just_after}:
        return Lasting("unknown", "other settings were changed since", is_over=True)
    if objective.metric in (QPS.name, TPS.name) and (swing := _swing(later, objective.metric)) > LIKE:
        because = f"{objective.metric} follows its clients: within the last day it varied by a factor of {swing:.2g}"
        return Lasting("unknown", because)
    since, effect = compared(just_after, _newest(later, just_after, objective), objective, LONGEST_S)
    held, _ = compared(before, later, objective, LONGEST_S)
    told = None if held.ratio is None else held
    if effect is None or since.ratio is None or since.low is None or since.high is None:
        least = f"fewer than {LEAST} windows of the last day are at the load of the time just after the change"
        return Lasting("unknown", least, None, told)
    worse = objective.goal == "minimize"
    bound = math.log1p(TOLERANCE)
    if (1 - effect.below(bound) if worse else effect.below(-bound)) >= CERTAIN:
        return Lasting("decayed", "", since, told)
    if (since.high if worse else 1 / since.low) >= QUARTER:
        return Lasting("unknown", "its interval includes a loss of a quarter", since, told)
    if told is not None and told.ratio is not None and (told.ratio >= 1 if worse else told.ratio <= 1):
        return Lasting("unknown", f"{objective.metric} is no longer better than before the change", since, told)
    return Lasting("holds", "", since, told)


def spaced(starts: Sequence[float], step_s: float = STEP_S) -> list[int]:
    """Of ascending starts (n,) in seconds, the places of some that are at least so far apart."""
    kept: list[int] = []
    for place, start in enumerate(starts):
        if not kept or start - starts[kept[-1]] >= step_s:
            kept.append(place)
    return kept


def _newest(
    later: Sequence[LoadedWindow], just_after: Sequence[LoadedWindow], objective: Objective
) -> Sequence[LoadedWindow]:
    if objective.metric in (QPS.name, TPS.name):
        return later[-NEWEST:]
    return at_like_load(later, just_after, REACHED)[-NEWEST:]


def _swing(windows: Sequence[LoadedWindow], metric: str) -> float:
    """The ratio of a high to a low median reading of an hour, without the tenth beyond either."""
    found = [value for w in windows if (value := w.metrics.get(metric, 0.0)) > 0]
    hours = sorted(median(found[i : i + AN_HOUR]) for i in range(0, len(found) - AN_HOUR + 1, AN_HOUR))
    tenth = len(hours) // 10
    return hours[-1 - tenth] / hours[tenth] if hours else 1.0
