"""An observation, as a line of an answer."""

from __future__ import annotations

from datetime import datetime

from lutra_models.metrics import P99Of, P99Source

from lutra_service.api.databases.schemas import Values
from lutra_service.api.http.body import Answer


class ObservationAnswer(Answer):
    """A window, or a failure, with the settings that were active. In a table each entry of `settings`, `metrics`,
    `context` and `bounds` is a column: `setting.…`, `metric.…`, `context.…`, `bound.…`."""

    id: str
    """The id of its window."""
    database: str
    """The id of its database."""
    engine: str
    """Its database's engine."""
    engine_version: str | None
    """The server's version, as its agent last reported it."""
    memory_bytes: int | None
    """The memory of the server's host, as its agent last reported it."""
    cores: float | None
    """The cores of the server's host, as its agent last reported them."""
    session: str | None
    """The tuning session that was open then."""
    recommendation: str | None
    """The recommendation whose settings it measured."""
    start: datetime | None
    """When its window began; null for a failure."""
    end: datetime | None
    """When its window ended; null for a failure."""
    received_at: datetime
    """When it was reported."""
    windows: int
    """The number of windows that were merged into it: 1 for an original window."""
    failure: str | None
    """Why nothing was measured."""
    p99_source: P99Source | None
    """The source of `p99_ms`."""
    p99_of: P99Of | None
    """The unit of work whose latency `p99_ms` is."""
    settings: Values
    """The settings that were active, in the server's own units."""
    metrics: dict[str, float]
    """The measured values, in the unit of the name."""
    context: Values
    """The circumstances: the load and the like."""
    bounds: dict[str, float]
    """For a window that was ended early, the bound that the whole window would not have exceeded."""
