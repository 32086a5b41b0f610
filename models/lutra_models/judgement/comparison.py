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
from lutra_models.judgement.busyness import MARKED, beyond_usual, slowdown, taken_share
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
    return compared(before, after, objective)[0]


def compared(
    before: Sequence[LoadedWindow], after: Sequence[LoadedWindow], objective: Objective, longest_s: float = math.inf
) -> tuple[Judgement, Mixture | None]:
    """The same, with the distribution of the logarithm of the ratio; None if too few windows are at comparable load.

    A change of level that lasts longer than `longest_s` belongs to the effect, whatever its cause.
    """
    metric = objective.metric
    was, now = ([w for w in windows if w.metrics.get(metric, 0.0) > 0] for windows in (before, after))
    of_rate = metric in (QPS.name, TPS.name)
    kept_was, kept_now = (was, now) if of_rate else _at_like_load(was, now)
    left_out = len(was) - len(kept_was) + len(now) - len(kept_now)
    if min(len(kept_was), len(kept_now)) < LEAST:
        return Judgement(metric, "not_enough_at_like_load", len(kept_was), len(kept_now), left_out), None
    windows = sorted([*kept_was, *kept_now], key=lambda w: w.start_s)
    changed = {id(w) for w in kept_now}
    beyond = [beyond_usual(w, windows) for w in windows]
    marked = sum(max(taken_share(w.metrics), b) >= MARKED for w, b in zip(windows, beyond, strict=True))
    told = Judgement(metric, "no_difference_seen", len(kept_was), len(kept_now), left_out, marked)
    rates = [] if of_rate else [w.rate for w in windows if w.rate is not None]
    effect = _effect(windows, metric, [float(id(w) in changed) for w in windows], rates, beyond, longest_s)
    if effect is None:
        return Judgement(metric, "not_enough_at_like_load", len(kept_was), len(kept_now), left_out, marked), None
    return _told(told, effect, objective, windows, rates), effect


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
    beyond: Sequence[float],
    longest_s: float,
) -> Mixture | None:
    """The difference of logarithms, at like pressure by others. Busy windows are noisier, as much as the host was."""
    usual = median(w.seconds for w in windows)
    pressed = [slowdown(w.metrics) for w in windows]
    noise = [(b / USUAL_NOISE) ** 2 + (x / PRESSED_NOISE) ** 2 for b, x in zip(beyond, pressed, strict=True)]
    y = [math.log(w.metrics[metric]) for w in windows]
    times = [(w.start_s - windows[0].start_s) / usual for w in windows]
    curve = Curve.over(rates if len(rates) == len(windows) else ())
    of_load = zip(*(curve.row(rate) for rate in rates), strict=True) if curve.line else ()
    of_others = [pressed] if max(pressed) - min(pressed) >= PRESSED else []
    columns = [[1.0] * len(windows), *(list(column) for column in of_load), *of_others, changed]
    return coefficient(y, columns, times, noise, longest_s / usual)


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


def sentence(judgement: Judgement) -> str:
    """As in "p99_ms 18 % lower, better (90 % interval: 26 % lower to 9 % lower), by 12 windows against 60 before …"."""
    metric = judgement.metric
    counted = f"{_windows(judgement.after)} against {judgement.before} before at comparable load"
    if judgement.ratio is None or judgement.low is None or judgement.high is None:
        return f"not enough windows at comparable load to compare {metric}: {counted}{_left_out(judgement)}"
    interval = f"{100 * judgement.level:.0f} % interval: {_change(judgement.low)} to {_change(judgement.high)}"
    where = f"by {counted}{_rates(judgement)}{_busy(judgement)}"
    if judgement.verdict == "no_difference_seen":
        return f"no difference seen in {metric} ({interval}), {where}"
    return f"{metric} {_change(judgement.ratio)}, {judgement.verdict} ({interval}), {where}"


def compared_with(judgement: Judgement | None, what: str) -> str:
    """As in "p99_ms 24 % higher than just after the change (90 % interval: 15 % higher to 33 % higher)"; empty without
    an interval.
    """
    if judgement is None or judgement.ratio is None or judgement.low is None or judgement.high is None:
        return ""
    interval = f"{100 * judgement.level:.0f} % interval: {_change(judgement.low)} to {_change(judgement.high)}"
    how = _change(judgement.ratio)
    return f"{judgement.metric} {'the same as' if how == '0 %' else f'{how} than'} {what} ({interval})"


def _change(ratio: float) -> str:
    percent = f"{100 * abs(ratio - 1):.0f} %"
    return "0 %" if percent == "0 %" else f"{percent} {'higher' if ratio > 1 else 'lower'}"


def _windows(count: int) -> str:
    return f"{count} window" if count == 1 else f"{count} windows"


def _left_out(judgement: Judgement) -> str:
    return f", and {judgement.left_out} at a different load" if judgement.left_out else ""


def _rates(judgement: Judgement) -> str:
    if judgement.rate_low is None or judgement.rate_high is None:
        return ""
    return f" ({judgement.rate_of} {_rate(judgement.rate_low)} to {_rate(judgement.rate_high)})"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.3g}"


def _busy(judgement: Judgement) -> str:
    if not judgement.busy:
        return ""
    return f"; the host was busy with something else in {judgement.busy} of them, which have less weight"
