"""Facts, independent and in no order: `app.consequences` defines their consequences and their order."""

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
class SettingsChanged:
    """The same server has other settings than in the newest report before: `former` is the hash of those."""

    database: Database
    former: str


@dataclass(frozen=True)
class Measured:
    """A window under a recommendation, or the reason why there is none."""

    recommendation_id: str
    report: Report


@dataclass(frozen=True)
class WindowSeen:
    """The newest window, regardless of its settings."""

    database: Database


@dataclass(frozen=True)
class Heard:
    """An agent reported: its newest report, with the configuration if it is known."""

    database: Database
    report: Report
    configuration: Document | None


@dataclass(frozen=True)
class Reported:
    """A report was accepted, the newest or an older one."""

    database: Database


@dataclass(frozen=True)
class UndoBegun:
    """The service undoes a change by itself, and its session reports that."""

    session_id: str | None
    message: str


@dataclass(frozen=True)
class NextStep:
    """The database's session may have a next step."""

    database_id: str
