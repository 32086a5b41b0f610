"""Databases and their agents' reports, as requests and answers."""

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
    """The operator's policy. Values are texts with units or numbers in the server's own unit."""

    pins: Settings = Field(default={})
    """Settings that are fixed at a value: name → value."""
    ranges: dict[Name, tuple[SettingValue, SettingValue]] = Field(default={}, max_length=500)
    """Settings with a narrower range than the catalogue's: name → [low, high]."""
    movable: list[Name] | None = Field(default=None, max_length=500)
    """The settings that may move; null for all that are tuned by default."""
    restart: bool = True
    """Whether settings that need a restart may move, if the mode allows a restart."""
    durability: bool = False
    """Whether settings that can lose committed data may move; the agent's own file has to allow it as well."""
    host: bool = False
    """Whether host settings may move, which affect everything on the machine; the agent's own file has to allow it as
    well.
    """
    memory_fraction: float = Field(default=0.8, gt=0, le=1)
    """The share of the memory that may be used, as counted by `memory_count`."""
    memory_count: MemoryCount = "in_use"
    """The method of the memory sum: the memory that can really be in use at once, or the worst case with everything
    full at once.
    """
    past: Past = "label"
    """The databases from which it learns and which learn from it: all, those with the same label, or none."""


class PolicyPatch(Body):
    """Only the given parts change; only `movable` can be null."""

    pins: Settings | None = None
    """Replaces all pins: name → value."""
    ranges: dict[Name, tuple[SettingValue, SettingValue]] | None = Field(default=None, max_length=500)
    """Replaces all ranges: name → [low, high]."""
    movable: list[Name] | None = Field(default=None, max_length=500)
    """The settings that may move; null for all that are tuned by default."""
    restart: bool | None = None
    """Whether settings that need a restart may move, if the mode allows a restart."""
    durability: bool | None = None
    """Whether settings that can lose committed data may move; the agent's own file has to allow it as well."""
    host: bool | None = None
    """Whether host settings may move, which affect everything on the machine; the agent's own file has to allow it as
    well.
    """
    memory_fraction: float | None = Field(default=None, gt=0, le=1)
    """The share of the memory that may be used, as counted by `memory_count`."""
    memory_count: MemoryCount | None = None
    """The method of the memory sum: the memory that can really be in use at once, or the worst case with everything
    full at once.
    """
    past: Past | None = None
    """The databases from which it learns and which learn from it: all, those with the same label, or none."""

    @field_validator(
        "pins", "ranges", "restart", "durability", "host", "memory_fraction", "memory_count", "past", mode="before"
    )
    @classmethod
    def _says_something(cls, value: Any) -> Any:
        if value is None:
            raise ValueError("null has no meaning here: leave it out, or give a value")
        return value


class NewDatabase(Body):
    """A database server to register."""

    name: Label
    """The name, unique among databases."""
    engine: Name = Field(examples=list(own_engines()))
    """The engine: one of those in the catalogue."""
    policy: PolicyBody = PolicyBody()
    """The operator's policy."""
    label: Label | None = None
    """Databases with the same label belong together, and so do those without a label."""


class DatabasePatch(Body):
    """Only the given fields change. `label` needs a token that is not bound to a database; null removes the label."""

    policy: PolicyPatch = PolicyPatch()
    """The parts of the policy that change."""
    label: Label | None = None
    """Databases with the same label belong together, and so do those without a label."""


class AgentAnswer(Answer):
    """The agent's newest status."""

    version: str = ""
    """The agent's version."""
    mode: Mode = "observe"
    """The strongest mode that the agent's own file allows."""
    paused: bool = False
    """Whether somebody on the database's host has paused the agent."""
    driver: str | None = None
    """The driver of a lab; null if there is none."""
    loads: list[str] = Field(default=[])
    """The named loads of the driver, in addition to its own: a session may name them."""
    spool_dropped: int = 0
    """The number of reports that were dropped because the spool was full."""
    spool_refused: int = 0
    """The number of reports that the service refused."""
    problems: list[str] = Field(default=[])
    """The agent's problems."""
    guardrails: dict[GuardName, Guardrail] = Field(default={})
    """The guardrails of its own file."""
    firing: list[GuardName] = Field(default=[])
    """The guards that are firing."""
    provisional: str | None = None
    """The recommendation whose change is not confirmed yet."""


class DatabaseAnswer(Answer):
    """A registered database server."""

    id: str
    """The id."""
    name: str
    """The name."""
    engine: str
    """The engine."""
    engine_version: str | None
    """The version, as its agent last reported it; null before the first report."""
    role: Role | None
    """The version, as its agent last reported it; null before the first report."""
    label: str | None
    """Databases with the same label belong together, and so do those without a label."""
    policy: PolicyBody
    """The operator's policy."""
    host: Host | None
    """The resources that the server may use; null before the first report."""
    peak_connections: int
    """The most connections seen at once; 0 if unknown."""
    agent: AgentAnswer | None
    """Its agent's newest status; null before the first report."""
    created_at: datetime
    """When it was registered."""
    last_report_at: datetime | None
    """When its agent's last report arrived."""
    last_window_end: datetime | None
    """The end of the last window that was measured."""
    retired_at: datetime | None
    """When it was retired: its reports have been refused since. Null while it is in use."""
