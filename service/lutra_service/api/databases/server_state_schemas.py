"""What a database's agent has told, as answers."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from lutra_models.knobs import Applies
from lutra_models.metrics import P99Of, P99Source
from lutra_models.wire import SettingValue

from lutra_service.api.http.body import Answer


class SettingAnswer(Answer):
    """A live setting, as its agent last reported it."""

    setting: str
    """Its name."""
    value: SettingValue
    """In the server's own unit."""
    text: str
    """The value as people write it."""
    unit: str
    """The server's own unit; empty where it has none."""
    applies: Applies | Literal["fixed"]
    """How a new value becomes active; `fixed` for a setting that cannot be changed."""
    source: str
    """The source of the value."""
    persisted: str | None
    """Its text in the settings file that the agent writes; null where the file has none."""
    shadowed: str | None
    """What outranks that file, so that a change would have no effect."""
    unreached: str | None
    """Who has a value of their own, which a change does not reach: roles, databases, tablespaces; null for nobody."""
    pending_restart: bool
    """Whether another value becomes active at the next restart."""
    not_active: str | None
    """What the settings file has and the running server has not, with what makes it active; null where that is
    nothing."""
    range: str | None
    """Where it is searched now; null where it stays as it is."""


class WindowAnswer(Answer):
    """An interval in which something was measured."""

    id: str
    """Its id."""
    start: datetime
    """Its first moment."""
    end: datetime
    """The first moment after it."""
    metrics: dict[str, float]
    """By name, in the unit of the name. What was not measured is absent."""
    p99_source: P99Source | None
    """Where `p99_ms` comes from; `estimated` means computed, not measured."""
    p99_of: P99Of | None
    """What `p99_ms` is the latency of."""
    busy: float
    """The share of its processor time that something else on the host took (steal, throttling, waiting for a disk, a
    queue for its processors), beyond what is usual in the sixty windows before it. From 0.1 on judgements mark it; 0
    where the host shows nothing."""
    failure: str | None
    """Why nothing could be measured; null where something was."""
    agent: str
    """The agent that measured it."""
    session: str | None
    """The session whose trial it is."""
    recommendation: str | None
    """The recommendation whose settings it measured."""
    windows: int
    """How many windows it merges: more than one for old windows."""
