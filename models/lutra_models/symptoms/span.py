"""Several windows read as one: how often something was counted in all of them, how high a gauge stood."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

How = Literal["count", "rate", "mean", "most", "least", "newest"]
HOWS: tuple[How, ...] = get_args(How)
RATE = "_per_s"


@dataclass(frozen=True)
class MeasuredWindow:
    """One window's length and metrics: counters as `<collector>.<counter>_per_s`, gauges as `<collector>.<gauge>`."""

    seconds: float
    metrics: Mapping[str, float]

    def __post_init__(self) -> None:
        if not 0 < self.seconds < math.inf:
            raise ValueError(f"a window lasts a positive time, got {self.seconds} s")


@dataclass(frozen=True)
class Measured:
    """What a formula reads of the windows: `count` and `rate` (per second) of a counter; `mean`, `most`, `least` and
    `newest` of a gauge, which is the mean within each window. Only windows that have the metric take part.

    An age is read from the newest window: it has all of the past in it, and tells what is true now.
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

    def value(self, windows: Sequence[MeasuredWindow]) -> float | None:
        """None where no window has it. The windows come in the order of time."""
        found = [(w.seconds, w.metrics[self.reported]) for w in windows if self.reported in w.metrics]
        if not found:
            return None
        values = [value for _, value in found]
        chosen = {"most": max(values), "least": min(values), "newest": values[-1]}.get(self.how)
        if chosen is not None:
            return chosen
        total = sum(seconds * value for seconds, value in found)
        return total if self.how == "count" else total / sum(seconds for seconds, _ in found)
