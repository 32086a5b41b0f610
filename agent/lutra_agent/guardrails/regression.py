"""Whether p99 is worse since a change, by all windows since and before, beyond any single window's bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, median

from lutra_models.guardrails import P99_GUARD, Guardrail
from lutra_models.judgement import LEVEL, LoadedWindow, judge
from lutra_models.metrics import P99, Objective

from lutra_agent.guardrails.evaluate import Violation, WindowReading

WORSE = 1.1
"""The ratio of p99 from which a loss counts."""
TELL = 10
"""The number of windows from which a loss counts at 80 % certainty; before them it counts at 99 %."""
CERTAIN = 0.8
WITHIN = NormalDist().inv_cdf((1 + LEVEL) / 2) / NormalDist().inv_cdf(CERTAIN)
"""The distance of the interval's end from the middle, relative to that of the quantile `CERTAIN`."""


def regression(
    before: Sequence[WindowReading], since: Sequence[WindowReading], guardrail: Guardrail
) -> Violation | None:
    """The comparison at comparable load and pressure if it says that p99 is worse; otherwise None."""
    newest = next((told for one in reversed(since) if (told := P99_GUARD.reading(one.values))), None)
    if newest is None:
        return None
    name, value = newest
    was, now = (_loaded(readings, name, group) for readings, group in ((before, "before"), (since, "since")))
    found = judge(was, now, Objective(P99.name, "minimize"))
    if found.ratio is None or found.low is None or found.high is None or found.ratio < WORSE:
        return None
    likely = WITHIN * math.log(found.ratio) >= math.log(found.ratio / found.low)
    if found.verdict != "worse" and not (len(since) >= TELL and likely):
        return None
    usual = median(one.metrics[P99.name] for one in was)
    held_s = sum(one.seconds for one in since)
    interval = f"{LEVEL:.0%} interval: {_more(found.low)} to {_more(found.high)}"
    counted = (
        f"{found.after} windows against {found.before} before it, at comparable load and with comparable neighbours"
    )
    why = f"p99 is {_more(found.ratio)} since the change ({interval}), by {counted}"
    return Violation("p99", name, value, WORSE * usual, guardrail, usual, since[0].start, held_s, why)


def _loaded(readings: Sequence[WindowReading], name: str, group: str) -> list[LoadedWindow]:
    return [
        LoadedWindow(one.start.timestamp(), one.seconds, {**one.values, P99.name: one.values[name]}, group=group)
        for one in readings
        if name in one.values
    ]


def _more(ratio: float) -> str:
    return f"{abs(ratio - 1):.0%} {'higher' if ratio >= 1 else 'lower'}"
