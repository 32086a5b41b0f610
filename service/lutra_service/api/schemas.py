"""What requests and answers look like. Requests refuse fields that nobody knows."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from lutra_models.history import Approval, Mode, SessionState
from lutra_models.wire import Name, SettingValue
from pydantic import BaseModel, Field, StringConstraints, field_validator

from lutra_service.api.body import Body
from lutra_service.api.guard_schemas import EventAnswer
from lutra_service.app.access import Scope

Document = dict[str, Any]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Settings = Annotated[dict[Name, SettingValue], Field(max_length=500)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Past = Literal["all", "label", "none"]
PAST = "Whose models it leans on, and who leans on its own: databases of every label, of the same label, or nobody's."
LABEL = "Databases of one label belong together; those without any belong together too."


class PolicyBody(Body):
    """What the operator allows. Values are texts with units or numbers in the server's own unit."""

    pins: Settings = Field(default={})
    ranges: dict[Name, tuple[SettingValue, SettingValue]] = Field(default={}, max_length=500)
    movable: list[Name] | None = Field(default=None, max_length=500)
    restart: bool = True
    durability: bool = False
    memory_fraction: float = Field(default=0.8, gt=0, le=1)
    past: Past = Field(default="label", description=PAST)


class PolicyPatch(Body):
    """Only the named parts change; null is a value of `movable` alone."""

    pins: Settings | None = None
    ranges: dict[Name, tuple[SettingValue, SettingValue]] | None = Field(default=None, max_length=500)
    movable: list[Name] | None = Field(default=None, max_length=500)
    restart: bool | None = None
    durability: bool | None = None
    memory_fraction: float | None = Field(default=None, gt=0, le=1)
    past: Past | None = Field(default=None, description=PAST)

    @field_validator("pins", "ranges", "restart", "durability", "memory_fraction", "past", mode="before")
    @classmethod
    def _says_something(cls, value: Any) -> Any:
        if value is None:
            raise ValueError("null says nothing here: leave it out, or give a value")
        return value


class NewDatabase(Body):
    name: Label
    engine: Name
    policy: PolicyBody = PolicyBody()
    label: Label | None = Field(default=None, description=LABEL)


class DatabasePatch(Body):
    """What is named changes. `label` needs a token that is bound to no database; null takes it away."""

    policy: PolicyPatch = PolicyPatch()
    label: Label | None = Field(default=None, description=LABEL)


class DatabaseAnswer(BaseModel):
    id: str
    name: str
    engine: str
    engine_version: str | None
    role: str | None
    label: str | None
    policy: PolicyBody
    host: Document | None
    peak_connections: int
    agent: Document | None
    created_at: datetime
    last_report_at: datetime | None
    last_window_end: datetime | None


class SettingAnswer(BaseModel):
    """A live setting. `value` is in the server's own unit; `range` says where it is searched, null where it stays."""

    setting: str
    value: SettingValue
    text: str
    unit: str
    applies: str
    source: str
    persisted: str | None = Field(description="What the file that the agent writes says of it.")
    shadowed: str | None = Field(description="What outranks that file, so that a change would have no effect.")
    pending_restart: bool
    range: str | None


class WindowAnswer(BaseModel):
    id: str
    start: datetime
    end: datetime
    metrics: dict[str, float]
    p99_source: str | None
    p99_of: str | None
    failure: str | None
    agent: str
    session: str | None
    recommendation: str | None = Field(description="The recommendation whose settings it measured.")
    windows: int = Field(description="How many it stands for: more than one where old windows were drawn together.")


class NewToken(Body):
    name: Label
    scopes: list[Scope] = Field(min_length=1, max_length=4)


class TokenAnswer(BaseModel):
    id: str
    name: str
    scopes: list[Scope]
    database: str | None
    created_at: datetime
    revoked_at: datetime | None


class NewTokenAnswer(TokenAnswer):
    token: str | None = Field(description="Shown once; null where an Idempotency-Key asks a second time.")


class ObjectiveBody(Body):
    metric: Name
    goal: Literal["minimize", "maximize"]


class LimitBody(Body):
    metric: Name
    at_most: Finite | None = None
    at_least: Finite | None = None


class NewSession(Body):
    objective: ObjectiveBody
    limits: list[LimitBody] = Field(default=[], max_length=20)
    mode: Mode = "observe"
    approval: Approval = "manual"
    max_trials: int = Field(default=30, ge=1, le=1000)
    seed: int = Field(default=0, ge=0, le=2**53)


class SessionAnswer(BaseModel):
    id: str
    database: str
    state: SessionState
    objective: ObjectiveBody
    limits: list[LimitBody]
    mode: Mode
    effective_mode: Mode = Field(description="The weaker of `mode` and the most that the agent's own file allows.")
    approval: Approval
    max_trials: int
    seed: int
    trials_done: int
    current: str | None = Field(description="The recommendation that is being computed, decided, applied or measured.")
    incumbent: str | None = Field(description="The best measured one so far that keeps the limits.")
    handover: str | None = Field(description="What the session leaves the database with, once it is known.")
    baseline: Document | None
    server: Document | None = Field(description="The server that it is for: role, version, name, memory, cores.")
    rebased_at: datetime | None = Field(description="It began anew then, on a server that had become another one.")
    p99_source: str | None
    p99_of: str | None
    message: str
    events: list[EventAnswer] = Field(description="Guards that fired, the newest first.")
    created_at: datetime
    ended_at: datetime | None


class NewRecommendation(Body):
    """Empty: the next one of the open session. With `settings`: these, laid over the current ones and checked."""

    settings: Settings | None = None
    approve: bool = False


class Approving(Body):
    settings: list[Name] | None = Field(default=None, max_length=500, description="Only these of its changes.")


class ChangeAnswer(BaseModel):
    setting: str
    before: SettingValue
    after: SettingValue
    before_text: str
    after_text: str
    applies: str
    do: str
    undo: str


class LeftOutAnswer(BaseModel):
    n: int
    held: int


class PredictionAnswer(BaseModel):
    median: float
    low: float
    high: float
    level: float
    far: bool = Field(description="Far from all that was measured: the interval is mostly prior.")
    record: LeftOutAnswer | None = Field(
        default=None, description="Of the `n` readings so far, `held` lay inside when predicted without themselves."
    )


class ReasonAnswer(BaseModel):
    setting: str
    before: SettingValue | None
    after: SettingValue
    sentence: str
    effect: float | None


class MemoryTermAnswer(BaseModel):
    name: str
    bytes: float
    formula: str
    assumption: str


class MemoryAnswer(BaseModel):
    terms: list[MemoryTermAnswer]
    total_bytes: float
    limit_bytes: float


class RecommendationAnswer(BaseModel):
    id: str
    database: str
    session: str | None
    parent: str | None
    trial: int | None
    kind: str
    origin: str | None
    state: str
    before: Document
    configuration: Document | None
    changes: list[ChangeAnswer] | None
    reasons: list[ReasonAnswer] | None
    predictions: dict[str, PredictionAnswer]
    memory: MemoryAnswer | None
    restart_needed: bool | None
    warnings: list[str] | None
    outcome: Document | None
    measured: Document | None
    failed: str | None
    error: str | None
    seed: int
    key: str
    package_version: str
    created_at: datetime
    proposed_at: datetime | None
    decided_at: datetime | None
    decided_by: str | None
    applied_at: datetime | None
    expires_at: datetime | None
    ended_at: datetime | None


class TrialAnswer(BaseModel):
    trial: int | None
    recommendation: str
    state: str
    origin: str | None
    configuration: Document | None
    changes: list[ChangeAnswer] | None
    reasons: list[ReasonAnswer] | None
    predictions: dict[str, PredictionAnswer]
    measured: Document | None
    failed: str | None
    memory: MemoryAnswer | None


class NewPrediction(Body):
    settings: Settings = Field(default={})
    level: float = Field(default=0.9, gt=0, lt=1)


class RecordAnswer(BaseModel):
    n: int
    held: int
    level: float


class PredictionsAnswer(BaseModel):
    configuration: Document
    predictions: dict[str, PredictionAnswer]
    changes: list[ChangeAnswer]
    memory: MemoryAnswer
    refusal: Document | None = Field(description="Why these settings would not be let through, where they would not.")
    warnings: list[str]
    observations: int
    session: str | None
    fitted_at: datetime
    record: dict[str, RecordAnswer] = Field(description="Of `n` predicted readings the interval held `held`.")


class KnobAnswer(BaseModel):
    """One setting of the catalogue; `range` holds formulas of the host's facts."""

    name: str
    group: str
    kind: str
    unit: str
    range: str
    log: bool
    special: list[float]
    versions: str
    applies: str
    risk: str
    tuned_by_default: bool
    rule: str | None
    meaning: str
    manual: str
