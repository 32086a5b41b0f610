"""A judgement in a sentence."""

from __future__ import annotations

from lutra_models.judgement.comparison import Judgement


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
