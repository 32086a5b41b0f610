"""Guardrails, their events and maintenance windows, as requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from lutra_models.guardrails import LONGEST_HOLD_S, GuardName
from lutra_models.maintenance import LONGEST_MINUTES, Weekday
from pydantic import BaseModel, Field

from lutra_service.api.body import Body


class EventAnswer(BaseModel):
    """A guard that fired: `value` was beyond `bound` for `held_s` seconds."""

    id: str
    database: str
    session: str | None
    recommendation: str | None = Field(description="The change that was taken back for it, null where there was none.")
    guard: str
    metric: str
    value: float
    bound: float
    limit: float
    baseline: float | None
    hold_s: float
    held_s: float
    since: datetime
    at: datetime
    received_at: datetime
    message: str


class GuardrailBody(Body):
    limit: float = Field(ge=0, allow_inf_nan=False, description="In the guard's own terms: see its meaning.")
    hold_s: float = Field(ge=0, le=LONGEST_HOLD_S, description="Crossed for so long on end, it fires.")
    enabled: bool = True


class GuardrailsBody(Body):
    """What is not named is as the agent's own file says."""

    guardrails: dict[GuardName, GuardrailBody] = Field(max_length=20)


class GuardrailAnswer(GuardrailBody):
    guard: GuardName
    meaning: str
    origin: Literal["service", "agent", "default"] = Field(description="Who set it.")


class GuardrailsAnswer(BaseModel):
    guardrails: list[GuardrailAnswer]
    firing: list[GuardName] = Field(description="What fires now, as the agent last said.")


class MaintenanceWindowBody(Body):
    """Weekly, from `start` by the clocks of `zone`."""

    weekdays: list[Weekday] = Field(min_length=1, max_length=7)
    start: str = Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$", description="HH:MM")
    minutes: int = Field(ge=1, le=LONGEST_MINUTES)
    zone: str = Field(default="UTC", pattern=r"^[A-Za-z0-9_+\-/]{1,64}$")


class MaintenanceBody(Body):
    windows: list[MaintenanceWindowBody] = Field(max_length=50)


class IntervalAnswer(BaseModel):
    start: datetime
    end: datetime


class MaintenanceAnswer(BaseModel):
    windows: list[MaintenanceWindowBody]
    open_until: datetime | None = Field(description="The end of the window that is open now, null where none is.")
    next: IntervalAnswer | None = Field(description="The next one to begin.")
