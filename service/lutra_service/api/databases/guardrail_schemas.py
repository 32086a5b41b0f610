"""Guardrails, their events and maintenance windows, as requests and answers.

A read returns the shape that a write takes, so that it can be edited and written back.
"""

from __future__ import annotations

from datetime import datetime

from lutra_models.guardrails import LONGEST_HOLD_S, GuardName, Guardrail
from lutra_models.maintenance import LONGEST_MINUTES, Weekday
from pydantic import Field

from lutra_service.api.http.body import READ_ONLY, Answer, Body
from lutra_service.app.databases.guardrails import Origin


class EventAnswer(Answer):
    """A guard that fired: `value` was beyond `bound` for `held_s` seconds."""

    id: str
    """The id."""
    database: str
    """The id of its database."""
    session: str | None
    """The session that was open at that time."""
    recommendation: str | None
    """The change that the agent undid because of it; null if there was none."""
    guard: GuardName
    """The guard."""
    metric: str
    """The metric that the guard watches."""
    value: float
    """The measured value."""
    bound: float
    """The value that it was compared with: the limit, or the limit and the baseline."""
    limit: float
    """The guardrail's limit, in the guard's own terms."""
    baseline: float | None
    """The metric's value before the change, for a guard that compares with it."""
    hold_s: float
    """For how many seconds without a break the bound had to be crossed."""
    held_s: float
    """For how many seconds the bound was crossed."""
    since: datetime
    """When the bound was first crossed."""
    at: datetime
    """When the guard fired."""
    received_at: datetime
    """When the service received it."""
    message: str
    """The event in words."""


class GuardrailBody(Body):
    """One guard's limit, and for how long it has to be crossed before the guard fires."""

    limit: float = Field(ge=0, allow_inf_nan=False)
    """The limit, in the guard's own terms: see its `meaning`."""
    hold_s: float = Field(ge=0, le=LONGEST_HOLD_S)
    """The guard fires when the limit is crossed for this many seconds without a break."""
    enabled: bool = True
    """Whether the guard is enabled."""
    meaning: str | None = Field(default=None, max_length=1000, json_schema_extra=READ_ONLY)
    """The guard's rule, in terms of `limit`."""
    origin: Origin | None = None
    """The origin of the values. A guardrail that is sent back unchanged with `agent` or `default` keeps that origin."""

    def of_core(self) -> Guardrail:
        return Guardrail(self.limit, self.hold_s, self.enabled)


class GuardrailsBody(Body):
    """The guardrails by guard. A guard that is left out has the limits of the agent's own file."""

    guardrails: dict[GuardName, GuardrailBody] = Field(max_length=20)
    """The guards by name."""
    firing: list[GuardName] | None = Field(default=None, max_length=20, json_schema_extra=READ_ONLY)
    """The guards that fire now, by the agent's newest report."""


class MaintenanceWindowBody(Body):
    """A weekly window from `start` in the time zone `zone`, across midnight if necessary."""

    weekdays: list[Weekday] = Field(min_length=1, max_length=7)
    """The days on which it begins."""
    start: str = Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")
    """HH:MM"""
    minutes: int = Field(ge=1, le=LONGEST_MINUTES)
    """The length in minutes."""
    zone: str = Field(default="UTC", pattern=r"^[A-Za-z0-9_+\-/]{1,64}$")
    """A time zone's name, such as `Europe/Berlin`."""


class IntervalBody(Body):
    """From `start` to before `end`, in UTC."""

    start: datetime
    """The start."""
    end: datetime
    """The end."""


class MaintenanceBody(Body):
    """The windows in which the server may be restarted. Without any, nothing is restarted in mode restart_in_window."""

    windows: list[MaintenanceWindowBody] = Field(max_length=50)
    """Every weekly window."""
    open_until: datetime | None = Field(default=None, json_schema_extra=READ_ONLY)
    """The end of the window that is open now; null if none is."""
    next: IntervalBody | None = Field(default=None, json_schema_extra=READ_ONLY)
    """The start of the next window."""
