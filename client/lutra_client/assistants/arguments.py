"""The arguments of the tools, checked before anything is sent. A text below a field describes it to assistants."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StringConstraints

_ID = "_[0-9a-z]{22}$"
DatabaseId = Annotated[str, StringConstraints(pattern=f"^db{_ID}")]
SessionId = Annotated[str, StringConstraints(pattern=f"^ts{_ID}")]
RecommendationId = Annotated[str, StringConstraints(pattern=f"^rec{_ID}")]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.@:\-]{1,100}$")]
Values = Annotated[
    dict[Name, StrictInt | StrictFloat | Annotated[str, StringConstraints(max_length=200)]],
    Field(min_length=1, max_length=20),
]


class Arguments(BaseModel):
    """Unknown fields and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class OfFleet(Arguments):
    """A choice of databases."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    """Only the database with exactly this name."""
    limit: int = Field(default=50, ge=1, le=60)
    """The most databases."""


class OfDatabase(Arguments):
    """One database."""

    database: DatabaseId
    """The database's id, `db_…`, from the tool `fleet`."""


class OfFindings(OfDatabase):
    """Findings in the latest windows."""

    minutes: int = Field(default=60, ge=1, le=1440)
    """The time in minutes that the windows reach back."""


class OfSettings(OfDatabase):
    """A choice of settings."""

    names: list[Name] = Field(default=[], max_length=40)
    """Only these settings. Without names: those that Lutra may change, and those that somebody set."""


class OfWindows(OfDatabase):
    """A choice of windows."""

    metrics: list[Name] = Field(default=["p99_ms", "qps", "tps"], min_length=1, max_length=20)
    """The metrics to show."""
    limit: int = Field(default=12, ge=1, le=60)
    """The most windows."""


class WhatIf(OfDatabase):
    """A what-if question."""

    settings: Values
    """The settings and their values: texts with units, such as `64MB`, or numbers in the server's own unit."""
    rate: float | None = Field(default=None, gt=0)
    """The offered load per second; null for the current load."""


class Proposal(OfDatabase):
    """A proposal."""

    settings: Values | None = None
    """Your own settings, as for `what_if`. Null: the next recommendation of the open session."""


class OfRecommendation(Arguments):
    """One recommendation."""

    recommendation: RecommendationId
    """The recommendation's id, `rec_…`."""


class OfSession(Arguments):
    """One tuning session."""

    session: SessionId
    """The session's id, `ts_…`."""


class Opening(OfDatabase):
    """A session to open."""

    metric: Name
    """The metric to improve, such as `p99_ms` or `qps`."""
    goal: Literal["minimize", "maximize"]
    """The direction of improvement: `minimize` for latencies, `maximize` for rates."""
    mode: Literal["observe", "reload_only", "restart_in_window"] = "reload_only"
    """The most that may be done. The agent's own file limits it further."""
    max_trials: int = Field(default=20, ge=1, le=100)
    """The most changes that are tried."""
    max_changes: int | None = Field(default=None, ge=1, le=50)
    """The most settings that a recommendation may change; null for any number."""


class OfPast(OfDatabase):
    """The past of one database."""

    limit: int = Field(default=20, ge=1, le=40)
    """The most recommendations to look at, newest first."""
