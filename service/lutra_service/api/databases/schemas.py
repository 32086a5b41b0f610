"""Databases and what their agents have told, as requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from lutra_models.catalog import own_engines
from lutra_models.guardrails import GuardName, Guardrail
from lutra_models.history import Mode
from lutra_models.knobs import Value
from lutra_models.server import Host, MemoryCount, Role
from lutra_models.wire import Name, SettingValue
from pydantic import Field, field_validator

from lutra_service.api.http.body import Answer, Body, Label

Settings = Annotated[dict[Name, SettingValue], Field(max_length=500)]
Values = dict[str, Value]
Past = Literal["all", "label", "none"]


class PolicyBody(Body):
    """What the operator allows. Values are texts with units or numbers in the server's own unit."""

    pins: Settings = Field(default={})
    """Settings that are held at a value: name → value."""
    ranges: dict[Name, tuple[SettingValue, SettingValue]] = Field(default={}, max_length=500)
    """Settings that are searched within narrower ends than the catalogue's: name → [low, high]."""
    movable: list[Name] | None = Field(default=None, max_length=500)
    """The settings that may move; null for all that are tuned by default."""
    restart: bool = True
    """Whether settings that need a restart may move, where the mode allows a restart."""
    durability: bool = False
    """Whether settings may move that can lose committed data; the agent's own file has to allow it too."""
    host: bool = False
    """Whether settings of the machine may move, which concern everything that runs there; the agent's own file has to
    allow it too."""
    memory_fraction: float = Field(default=0.8, gt=0, le=1)
    """How much of the memory may be taken, as `memory_count` counts it."""
    memory_count: MemoryCount = "in_use"
    """What the memory sum counts: what can really be in use at once, or the worst case, everything full at once."""
    past: Past = "label"
    """Which databases it learns from, and which learn from it: all, those of the same label, or none."""


class PolicyPatch(Body):
    """Only the named parts change; null is a value of `movable` alone."""

    pins: Settings | None = None
    """In place of all pins before: name → value."""
    ranges: dict[Name, tuple[SettingValue, SettingValue]] | None = Field(default=None, max_length=500)
    """In place of all ranges before: name → [low, high]."""
    movable: list[Name] | None = Field(default=None, max_length=500)
    """The settings that may move; null for all that are tuned by default."""
    restart: bool | None = None
    """Whether settings that need a restart may move, where the mode allows a restart."""
    durability: bool | None = None
    """Whether settings may move that can lose committed data; the agent's own file has to allow it too."""
    host: bool | None = None
    """Whether settings of the machine may move, which concern everything that runs there; the agent's own file has to
    allow it too."""
    memory_fraction: float | None = Field(default=None, gt=0, le=1)
    """How much of the memory may be taken, as `memory_count` counts it."""
    memory_count: MemoryCount | None = None
    """What the memory sum counts: what can really be in use at once, or the worst case, everything full at once."""
    past: Past | None = None
    """Which databases it learns from, and which learn from it: all, those of the same label, or none."""

    @field_validator(
        "pins", "ranges", "restart", "durability", "host", "memory_fraction", "memory_count", "past", mode="before"
    )
    @classmethod
    def _says_something(cls, value: Any) -> Any:
        if value is None:
            raise ValueError("null says nothing here: leave it out, or give a value")
        return value


class NewDatabase(Body):
    """A database server to look after."""

    name: Label
    """What people call it; no two databases have the same name."""
    engine: Name = Field(examples=list(own_engines()))
    """Which kind of server it is: one of the engines that the catalogue has."""
    policy: PolicyBody = PolicyBody()
    """What the operator allows."""
    label: Label | None = None
    """Databases of one label belong together; those without any belong together too."""


class DatabasePatch(Body):
    """What is named changes. `label` needs a token that is bound to no database; null takes it away."""

    policy: PolicyPatch = PolicyPatch()
    """The parts of the policy that change."""
    label: Label | None = None
    """Databases of one label belong together; those without any belong together too."""


class AgentAnswer(Answer):
    """The agent's newest status."""

    version: str = ""
    """The agent's version."""
    mode: Mode = "observe"
    """The strongest mode that the agent's own file allows."""
    paused: bool = False
    """Whether somebody at the database has paused it."""
    driver: str | None = None
    """The driver of a lab; null where there is none."""
    loads: list[str] = Field(default=[])
    """The loads that its driver makes besides its own: a session may name them."""
    spool_dropped: int = 0
    """The number of reports that were dropped because the spool was full."""
    spool_refused: int = 0
    """The number of reports that the service refused."""
    problems: list[str] = Field(default=[])
    """What it could not do."""
    guardrails: dict[GuardName, Guardrail] = Field(default={})
    """The guardrails of its own file."""
    firing: list[GuardName] = Field(default=[])
    """The guards that fire now."""
    provisional: str | None = None
    """The recommendation whose change is not confirmed yet."""


class DatabaseAnswer(Answer):
    """A database server that is looked after."""

    id: str
    """Its id."""
    name: str
    """What people call it."""
    engine: str
    """Which kind of server it is."""
    engine_version: str | None
    """As its agent last reported it; null before the first report."""
    role: Role | None
    """As its agent last reported it; null before the first report."""
    label: str | None
    """Databases of one label belong together; those without any belong together too."""
    policy: PolicyBody
    """What the operator allows."""
    host: Host | None
    """What the server may use of its host; null before the first report."""
    peak_connections: int
    """The most connections seen at once; 0 where unknown."""
    agent: AgentAnswer | None
    """Its agent's newest status; null before the first report."""
    created_at: datetime
    """When it was registered."""
    last_report_at: datetime | None
    """When its agent's last report came."""
    last_window_end: datetime | None
    """The end of the last window that was measured."""
    retired_at: datetime | None
    """When it was retired: since then no report of it is taken. Null while it is in use."""
