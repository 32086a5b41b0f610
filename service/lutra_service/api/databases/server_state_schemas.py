"""The reports of a database's agent, as answers."""

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
    """The value in a readable form."""
    unit: str
    """The server's own unit; empty if it has none."""
    applies: Applies | Literal["fixed"]
    """How a new value becomes active; `fixed` for a setting that cannot be changed."""
    source: str
    """The source of the value."""
    persisted: str | None
    """Its text in the settings file that the agent writes; null if the file does not contain it."""
    shadowed: str | None
    """The place that overrides that file, so that a change would have no effect."""
    unreached: str | None
    """The roles, databases and tablespaces with their own value, which a change does not reach; null if none."""
    pending_restart: bool
    """Whether a different value becomes active at the next restart."""
    not_active: str | None
    """The value in the settings file that is not active, and the step that activates it; null if there is none."""
    range: str | None
    """The range in which it is searched; null if it does not move."""


class WindowAnswer(Answer):
    """An interval in which something was measured."""

    id: str
    """The id."""
    start: datetime
    """Its first moment."""
    end: datetime
    """The first moment after it."""
    metrics: dict[str, float]
    """The metrics by name, in the unit of the name. Unmeasured metrics are absent."""
    p99_source: P99Source | None
    """The source of `p99_ms`; `estimated` means computed, not measured."""
    p99_of: P99Of | None
    """The unit of work whose latency `p99_ms` is."""
    busy: float
    """The share of its processor time that something else on the host took (steal, throttling, waiting for a disk, a
    queue for its processors), beyond the usual level of the sixty windows before it. Judgements mark windows from 0.1
    upward; 0 if the host shows nothing.
    """
    failure: str | None
    """Why nothing could be measured; null if something was."""
    agent: str
    """The agent that measured it."""
    session: str | None
    """The session of which it is a trial."""
    recommendation: str | None
    """The recommendation whose settings it measured."""
    windows: int
    """The number of windows that were merged into it: more than one for old windows."""
