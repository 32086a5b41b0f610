"""Several windows read as one: the sum of each counter over all of them, and the level of each gauge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from lutra_models.metrics import NOW

How = Literal["count", "rate", "mean", "most", "least", "newest", "text"]
HOWS: tuple[How, ...] = get_args(How)
RATE = "_per_s"
DATA = "data.bytes"
"""All data of the server, in bytes: one metric on every engine that reports it."""
WEEK_S = 7 * 86400.0
LONG_ENOUGH_S = 3000.0
"""The time for which growth has to be observed before a week of it is expected: a load that is just being filled does
not count.
"""


@dataclass(frozen=True)
class MeasuredWindow:
    """One window's length and metrics: counters as `<collector>.<counter>_per_s`, gauges as `<collector>.<gauge>`, and
    as `<collector>.<gauge>_now` what one that moved was at the end.

    `texts` are names of objects at its end, as `<collector>.<text>`: one line each, from a database that is not
    trusted.
    """

    seconds: float
    metrics: Mapping[str, float]
    texts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.seconds < math.inf:
            raise ValueError(f"a window lasts a positive time, got {self.seconds} s")


@dataclass(frozen=True)
class Measured:
    """The values that a formula reads from the windows: `count` and `rate` (per second) of a counter; `mean`, `most`
    and `least` of a gauge, which is the mean within each window; `newest` what the gauge was at the end of the last
    window; `text` the newest text. Only windows that have the metric take part.

    For an age, the newest value counts: it includes all of the past, and is current.
    """

    how: How
    metric: str

    @classmethod
    def parse(cls, text: str) -> Measured:
        """ "count of checkpointer.timed". Raises ValueError."""
        word, of, metric = (*text.split(" "), "", "")[:3]
        how: How | None = next((h for h in HOWS if h == word), None)
        if of != "of" or how is None or not metric:
            raise ValueError(f"{text!r} is not '<{'|'.join(HOWS)}> of <collector>.<metric>'")
        return cls(how, metric)

    @property
    def reported(self) -> str:
        """The metric's name in a window."""
        return self.metric + RATE if self.how in ("count", "rate") else self.metric

    def value(self, windows: Sequence[MeasuredWindow]) -> float | str | None:
        """None if no window has it. The windows come in the order of time."""
        if self.how == "text":
            return next((w.texts[self.metric] for w in reversed(windows) if self.metric in w.texts), None)
        having = [w for w in windows if self.reported in w.metrics]
        if not having:
            return None
        if self.how == "newest":
            last = having[-1].metrics
            return last.get(f"{self.metric}{NOW}", last[self.metric])
        found = [(w.seconds, w.metrics[self.reported]) for w in having]
        values = [value for _, value in found]
        chosen = {"most": max(values), "least": min(values)}.get(self.how)
        if chosen is not None:
            return chosen
        total = sum(seconds * value for seconds, value in found)
        return total if self.how == "count" else total / sum(seconds for seconds, _ in found)


def data_facts(windows: Sequence[MeasuredWindow]) -> dict[str, float]:
    """`data`, all data of the server in bytes, and `data_room`, what holds it twice after another week of growth.

    Nothing if no window has the size. The windows come in the order of time.
    """
    found = [(w.seconds, w.metrics[DATA]) for w in windows if w.metrics.get(DATA, 0.0) > 0]
    if not found:
        return {}
    (_, first), (_, last) = found[0], found[-1]
    seen_s = sum(seconds for seconds, _ in found[1:])
    grown = max(last - first, 0.0) * WEEK_S / seen_s if seen_s >= LONG_ENOUGH_S else 0.0
    return {"data": last, "data_room": 2 * (last + grown)}
