"""The interface of drivers: each generates load on a database for a while and reports the readings of its clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from lutra_models.ending import Level
from lutra_models.knobs import Value
from lutra_models.metrics import P99Of
from lutra_models.wire import EndedEarly

Moment = Callable[[], None]


def nothing() -> None:
    """The default of a callback."""


@dataclass(frozen=True)
class Measurement:
    """The clients' readings in a window: qps and tps per second, latencies in ms; `statement` names the load.

    If the window was `ended` early there are no metrics, because those of its start do not apply to the whole window.
    """

    window_start: datetime
    window_end: datetime
    metrics: Mapping[str, float]
    p99_of: P99Of
    statement: str
    ended: EndedEarly | None = None

    def __post_init__(self) -> None:
        if not self.window_start < self.window_end:
            raise ValueError(f"a window must end after it starts, got {self.window_start} and {self.window_end}")


class Driver(Protocol):
    @property
    def name(self) -> str: ...

    def context(self) -> dict[str, Value]:
        """The circumstances of its figures other than the settings: clients, scale, rate, …"""
        ...

    def run(
        self, on_window_start: Moment = nothing, on_window_end: Moment = nothing, must_reach: Level | None = None
    ) -> Measurement:
        """Warm up, measure, return. The callbacks enclose the measured part. Raises DriverFailed.

        A window that cannot come to `must_reach` may be ended early, by the rule of `lutra_models.ending`. A driver
        that does not see inside its windows measures whole ones.
        """
        ...


def utc(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(epoch_s, UTC)
