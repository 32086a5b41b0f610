"""A window with the load that its clients offered, and the windows at comparable load."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lutra_models.history import same_context
from lutra_models.knobs import Value
from lutra_models.metrics import QPS, TPS

LIKE = 1.5
"""Two loads are comparable if one is at most this multiple of the other."""
REACHED = 1.15
"""The largest factor by which a load may exceed the range of the others' loads."""


@dataclass(frozen=True)
class LoadedWindow:
    """A window of `seconds` from `start_s` (seconds since any moment), its metrics, and the load that the agent reports
    for it.

    `group` is the same for windows under the same settings.
    """

    start_s: float
    seconds: float
    metrics: Mapping[str, float]
    context: Mapping[str, Value] = field(default_factory=dict)
    group: str = ""

    @property
    def rate(self) -> float | None:
        """The requests of clients per second, in statements or otherwise in transactions; None if that is
        unknown or 0.
        """
        return next((self.metrics[m.name] for m in (QPS, TPS) if self.metrics.get(m.name, 0.0) > 0), None)

    @property
    def idle(self) -> bool:
        """Whether there were no requests."""
        return self.rate is None and any(m.name in self.metrics for m in (QPS, TPS))

    @property
    def mix(self) -> float | None:
        """Statements in a transaction."""
        qps, tps = (self.metrics.get(m.name, 0.0) for m in (QPS, TPS))
        return qps / tps if qps > 0 and tps > 0 else None


def apart(one: LoadedWindow, other: LoadedWindow) -> float:
    """The distance between two loads: the logarithm of the ratio of rates, infinite for other clients or
    another mix.
    """
    if not same_context(one.context, other.context) or _ratio(one.mix, other.mix) > LIKE:
        return math.inf
    return math.log(_ratio(one.rate, other.rate))


def at_like_load(windows: Iterable[LoadedWindow], others: Sequence[LoadedWindow], factor: float) -> list[LoadedWindow]:
    """The windows for which at least one of the other windows has a load within the factor."""
    bound = math.log(factor)
    return [w for w in windows if any(apart(w, other) <= bound for other in others)]


def _ratio(one: float | None, other: float | None) -> float:
    """At least 1; 1 if one is unknown."""
    return 1.0 if one is None or other is None else max(one, other) / min(one, other)
