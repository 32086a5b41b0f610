"""The input is windows before and after a change; the output is its effect at comparable load. A pure function.

The logarithm of the metric is a smooth function of the logarithm of the offered rate (p99 grows faster than load), plus
the change's effect. Windows under other clients, another mix, or a rate that the other side does not have are left out.
The number of busy connections is not a covariate: by Little's law it follows from the latency.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from lutra_models.evidence import Verdict
from lutra_models.judgement.busyness import MARKED, beyond_usual, busy_elsewhere, slowdown
from lutra_models.judgement.loaded import LIKE, REACHED, LoadedWindow, at_like_load
from lutra_models.judgement.regression import Mixture, coefficient
from lutra_models.load_curve import Curve
from lutra_models.metrics import QPS, TPS, Objective

LEAST = 4
"""Windows on either side."""
LEVEL = 0.9
"""The probability of the reported interval."""
CERTAIN = 0.98
"""The certainty from which a difference is reported: of fifty changes without an effect, one may be reported."""
WORTH_TELLING = 0.03
"""A smaller difference would not be noticeable."""
USUAL_NOISE = 0.1
"""The share of lost processor time from which a window has half the weight."""
PRESSED = 0.05
"""The difference in slowdown by others (its logarithm) between windows from which it is a column of its own."""
PRESSED_NOISE = 1.0
"""The slowdown from which a window has half the weight: the effect of others on p99 is known only roughly."""


@dataclass(frozen=True)
class Judgement:
    """The effect on `metric`: after over before as `ratio`, within `low` and `high` with the probability `level`.

    These are None if too few windows are at comparable load. `before` and `after` count the windows compared,
    `left_out` those at another load, and `busy` those compared in which the host was busy with something else, which
    have less weight. `rate_low` and `rate_high` bound the compared rates (`rate_of`), None if no rate is known.
    """

    metric: str
    verdict: Verdict
    before: int
    after: int
    left_out: int = 0
    busy: int = 0
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    rate_of: str | None = None
    rate_low: float | None = None
    rate_high: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def judge(before: Sequence[LoadedWindow], after: Sequence[LoadedWindow], objective: Objective) -> Judgement:
    """The effect of the change between the two. Windows without a positive reading of the objective's metric are
    ignored.

    If the metric is the rate itself, it is compared directly: the offered rate cannot be a covariate of itself.
    """
    metric = objective.metric
    was, now = ([w for w in windows if w.metrics.get(metric, 0.0) > 0] for windows in (before, after))
    of_rate = metric in (QPS.name, TPS.name)
    kept_was, kept_now = (was, now) if of_rate else _at_like_load(was, now)
    left_out = len(was) - len(kept_was) + len(now) - len(kept_now)
    if min(len(kept_was), len(kept_now)) < LEAST:
        return Judgement(metric, "not_enough_at_like_load", len(kept_was), len(kept_now), left_out)
    windows = sorted([*kept_was, *kept_now], key=lambda w: w.start_s)
    changed = {id(w) for w in kept_now}
    busy = busy_elsewhere(windows)
    marked = sum(share >= MARKED for share in busy)
    judgement = Judgement(metric, "no_difference_seen", len(kept_was), len(kept_now), left_out, marked)
    rates = [] if of_rate else [w.rate for w in windows if w.rate is not None]
    effect = _effect(windows, metric, [float(id(w) in changed) for w in windows], rates)
    if effect is None:
        return Judgement(metric, "not_enough_at_like_load", len(kept_was), len(kept_now), left_out, marked)
    return _told(judgement, effect, objective, windows, rates)


def _at_like_load(
    was: Sequence[LoadedWindow], now: Sequence[LoadedWindow]
) -> tuple[list[LoadedWindow], list[LoadedWindow]]:
    """Of the windows after, those whose load was seen before; of those before, what is near to them."""
    kept = at_like_load(now, was, REACHED)
    return at_like_load(was, kept, LIKE), kept


def _effect(
    windows: Sequence[LoadedWindow],
    metric: str,
    changed: Sequence[float],
    rates: Sequence[float],
) -> Mixture | None:
    """The difference of logarithms, at like pressure by others. Busy windows are noisier, as much as the host was."""
    usual = median(w.seconds for w in windows)
    pressed = [slowdown(w.metrics) for w in windows]
    noise = [
        (beyond_usual(w, windows) / USUAL_NOISE) ** 2 + (x / PRESSED_NOISE) ** 2
        for w, x in zip(windows, pressed, strict=True)
    ]
    y = [math.log(w.metrics[metric]) for w in windows]
    times = [(w.start_s - windows[0].start_s) / usual for w in windows]
    curve = Curve.over(rates if len(rates) == len(windows) else ())
    of_load = zip(*(curve.row(rate) for rate in rates), strict=True) if curve.line else ()
    of_others = [pressed] if max(pressed) - min(pressed) >= PRESSED else []
    columns = [[1.0] * len(windows), *(list(column) for column in of_load), *of_others, changed]
    return coefficient(y, columns, times, noise)


def _told(
    judgement: Judgement, effect: Mixture, objective: Objective, windows: Sequence[LoadedWindow], rates: Sequence[float]
) -> Judgement:
    tail = (1 - LEVEL) / 2
    low, ratio, high = (math.exp(effect.quantile(share)) for share in (tail, 0.5, 1 - tail))
    verdict: Verdict = "no_difference_seen"
    more = effect.below(0.0) <= (1 - CERTAIN) / 2
    less = effect.below(0.0) >= 1 - (1 - CERTAIN) / 2
    if (more or less) and abs(math.log(ratio)) >= math.log1p(WORTH_TELLING):
        verdict = "better" if more == (objective.goal == "maximize") else "worse"
    values = {**judgement.to_dict(), "verdict": verdict, "ratio": ratio, "low": low, "high": high}
    if rates:
        unit = QPS.name if QPS.name in windows[0].metrics else TPS.name
        values |= {"rate_of": unit, "rate_low": min(rates), "rate_high": max(rates)}
    return Judgement(**values)
