"""A report's content about the database, apart from the server's facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lutra_models.knobs import Value
from lutra_models.wire import EndedEarly, GuardEvent, HostRollback, Outcome

from lutra_agent.engines.common.telemetry import Latency

LARGEST = 1e18


@dataclass(frozen=True)
class Content:
    """The content of one report apart from the server's facts. `problems` name the metrics that could not be read for
    the window.

    `texts` are names of the database's objects, each one printable line.
    """

    window: tuple[datetime, datetime] | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    latency: Latency | None = None
    context: Mapping[str, Value] = field(default_factory=dict)
    outcomes: Sequence[Outcome] = ()
    events: Sequence[GuardEvent] = ()
    rolled_back: Sequence[HostRollback] = ()
    measures: str | None = None
    failure: str | None = None
    ended: EndedEarly | None = None
    problems: Sequence[str] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


def plausible(metrics: Mapping[str, float]) -> dict[str, float]:
    """The values that the wire accepts: a value that is not a finite number of 0 or more was not measured."""
    return {name: float(value) for name, value in metrics.items() if 0 <= value <= LARGEST}
