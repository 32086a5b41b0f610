"""A server's telemetry: its counters, the target metrics of a window, and the agent's rights to see both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from lutra_models.metrics import P99Of, P99Source

P99 = 0.99
MOST = 2**64


@dataclass(frozen=True)
class Reading:
    """The reading of one collector. `epoch` changes when the counters started again (a restart, a statistics reset).

    `texts` are names of objects, never queries or stored data.
    """

    counters: Mapping[str, float] = field(default_factory=dict)
    gauges: Mapping[str, float] = field(default_factory=dict)
    epoch: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """All collectors at one moment; `statements` is the engine's own and opaque to everybody else."""

    at: datetime
    monotonic_s: float
    readings: Mapping[str, Reading]
    statements: Any = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Latency:
    """The 99th percentile of a window, in milliseconds, and its source."""

    p99_ms: float
    source: P99Source
    of: P99Of


@dataclass(frozen=True)
class Targets:
    """An engine's target metrics over a window; unknown ones are absent.

    `diagnostics` are further metrics of the window, which are not objectives.
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    latency: Latency | None = None
    diagnostics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Visible:
    """One line of `lutra-agent check`: its subject, whether it is available, and how to get it if it is not.

    `p99` is the source of the 99th percentile in words, if this line is its source.
    """

    name: str
    available: bool
    detail: str = ""
    remedy: str = ""
    p99: str = ""


class Telemetry(Protocol):
    """The telemetry of one server. Methods that query the server raise DatabaseUnavailable if it cannot be reached."""

    @property
    def peak_connections(self) -> int:
        """The most connections that any sample saw at once, 0 before the first one."""
        ...

    def sample(self, at: datetime, monotonic_s: float) -> Sample: ...

    def targets(self, before: Sample, after: Sample) -> Targets:
        """Target metrics between two samples that no reset separates. Does not query the server."""
        ...

    def visible(self) -> tuple[Visible, ...]: ...


def percentile(bounds: Sequence[tuple[float, float]], counts: Sequence[int], share: float = P99) -> float | None:
    """A percentile, interpolated within its range, on a logarithmic scale if the range begins above zero.

    `bounds` are the ranges' ends. None if nothing was counted, if the percentile lies in an open range, or if these are
    not counts per range of durations.
    """
    if not counted(bounds, counts):
        return None
    wanted, below = share * sum(counts), 0
    for (low, high), count in zip(bounds, counts, strict=True):
        if count and below + count >= wanted:
            part = (wanted - below) / count
            if math.isinf(high):
                return None
            return low * (high / low) ** part if low > 0 else high * part
        below += count
    return None


def counted(bounds: Sequence[tuple[float, float]], counts: Sequence[int]) -> bool:
    """Whether these are counts per range of durations."""
    return all(0 <= low <= high for low, high in bounds) and all(0 <= count < MOST for count in counts)
