"""What is found out, each by itself and in no order: `app.consequences` knows what follows from it, and when."""

from __future__ import annotations

from dataclasses import dataclass

from lutra_models.wire import GuardEvent, HostRollback, Outcome, Report

from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Database


@dataclass(frozen=True)
class GuardFired:
    database: Database
    told: GuardEvent


@dataclass(frozen=True)
class OutcomeTold:
    """The outcome of a directive, as its agent reports it."""

    database: Database
    outcome: Outcome
    agent: str
    epoch: str


@dataclass(frozen=True)
class RolledBackOnHost:
    database: Database
    told: HostRollback


@dataclass(frozen=True)
class SettingsSeen:
    """The configuration that is active now, by the newest report."""

    database: Database
    report: Report
    configuration: Document


@dataclass(frozen=True)
class Measured:
    """A window under a recommendation, or why there is none."""

    recommendation_id: str
    report: Report


@dataclass(frozen=True)
class WindowSeen:
    """The newest window, whatever it was measured under."""

    database: Database


@dataclass(frozen=True)
class Heard:
    """An agent is there: its newest report, with the configuration where that is known."""

    database: Database
    report: Report
    configuration: Document | None


@dataclass(frozen=True)
class Reported:
    """A report was taken, the newest or an older one."""

    database: Database


@dataclass(frozen=True)
class UndoBegun:
    """The service undoes a change by itself, and its session says so."""

    session_id: str | None
    message: str


@dataclass(frozen=True)
class NextStep:
    """There may be a next step for the database's session."""

    database_id: str
