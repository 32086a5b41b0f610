"""A report taken in: stored once, its facts are learned, and its outcomes and measurement are assigned to their
recommendations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lutra_models import serial
from lutra_models.catalog.readable import Readable, readable
from lutra_models.errors import InvalidReport
from lutra_models.wire import Receipt, Report

from lutra_service.app.access import quota
from lutra_service.app.reports import facts_of, reporters
from lutra_service.app.reports.configurations import configuration
from lutra_service.app.tuning.deliver import directives
from lutra_service.app.tuning.deliver.directive_holder import Holder
from lutra_service.app.tuning.result import measurements
from lutra_service.app.tuning.steps.facts import (
    GuardFired,
    Heard,
    Measured,
    OutcomeTold,
    Reported,
    RolledBackOnHost,
    SettingsSeen,
    WindowSeen,
)
from lutra_service.common.documents import Document
from lutra_service.common.limits import SETTINGS_BYTES
from lutra_service.db.schema.records import Database, Recommendation, Session, StoredReport
from lutra_service.db.store import UnitOfWork


@dataclass(frozen=True)
class Arrival:
    """A report during its intake. `newest`: no later one of its agent or its database has arrived."""

    report: Report
    database: Database
    newest: bool
    configuration: Document | None
    session: Session | None
    measured: Recommendation | None


def accept(unit: UnitOfWork, database_id: str, report: Report) -> Receipt:
    """Store and act, or raise InvalidReport and change nothing. A duplicate gets the current directive again."""
    database = unit.databases.lock(database_id)
    if report.engine != database.engine:
        raise InvalidReport(f"engine {report.engine!r} reported, but {database_id} is {database.engine}")
    reporters.verify_welcome(database, Holder(report.agent, report.epoch), unit.now, report)
    if unit.reports.is_stored(database_id, report.agent, report.epoch, report.sequence):
        reporters.verify_same(unit, database_id, report)
        return Receipt(
            duplicate=True,
            settings_wanted=_settings_wanted(unit, database_id, report),
            directive=directives.hand_out(unit, database, Holder(report.agent, report.epoch)),
            rules=database.rules,
        )
    quota.verify_room(unit, database_id)
    quota.verify_report(report)
    arrival = _arrival(unit, database, report)
    unit.reports.add(_stored(unit, arrival))
    _bind_p99(unit, arrival)
    for fact in _facts(arrival):
        unit.record(fact)
    unit.conclude()
    database = unit.databases.get(database_id)
    return Receipt(
        settings_wanted=_settings_wanted(unit, database_id, report),
        directive=directives.hand_out(unit, database, Holder(report.agent, report.epoch)),
        rules=database.rules,
    )


def _arrival(unit: UnitOfWork, database: Database, report: Report) -> Arrival:
    newest = _newest(unit, database, report)
    configuration = _configuration(unit, database, report)
    if newest:
        database = _learn(unit, database, report)
    measured = _measured(unit, database, report)
    return Arrival(report, database, newest, configuration, _session(unit, database, report, measured), measured)


def _newest(unit: UnitOfWork, database: Database, report: Report) -> bool:
    seen = unit.reports.newest_sequence(database.id, report.agent, report.epoch)
    return (seen is None or report.sequence >= seen) and facts_of.is_latest(report, database, unit.now)


def _configuration(unit: UnitOfWork, database: Database, report: Report) -> Document | None:
    """The parsed configuration that the report's hash names; None until the settings themselves have come."""
    found = _readable(unit, database, report)
    if found is None:
        return None
    parsed = configuration(report, found.settings)
    if report.settings is not None:
        document = serial.settings_to_dict(found.settings)
        quota.verify_size("settings", {"settings": document}, SETTINGS_BYTES)
        unit.databases.add_settings(database.id, report.settings_hash, document, found.unreadable, unit.now)
        unit.reports.fill_configuration(database.id, report.settings_hash, parsed)
    return parsed


def _readable(unit: UnitOfWork, database: Database, report: Report) -> Readable | None:
    """The settings that the report's hash names, as far as the catalogue can read them."""
    settings = report.settings
    if settings is None:
        stored = unit.databases.settings(database.id, report.settings_hash)
        settings = None if stored is None else serial.settings_from_dict(stored)
    return None if settings is None else readable(report.engine, settings)


def _learn(unit: UnitOfWork, database: Database, report: Report) -> Database:
    """The database's facts are those of its newest report."""
    unreadable = unit.databases.unreadable(database.id, report.settings_hash)
    facts = facts_of.facts(report, database, unreadable.values(), unit.now)
    if not _settings_wanted(unit, database.id, report):
        facts["settings_hash"] = report.settings_hash
    unit.databases.change(database.id, **facts)
    return unit.databases.get(database.id)


def _measured(unit: UnitOfWork, database: Database, report: Report) -> Recommendation | None:
    """The recommendation that the report measures: named by it, else the one now applied outside a lab."""
    if report.measures is not None:
        found = unit.recommendations.find(report.measures)
        if found is None or found.database_id != database.id:
            raise InvalidReport(f"measures names {report.measures!r}, which is not a directive of {database.id}")
        if report.ended_early is not None and found.must_reach is None:
            raise InvalidReport(f"ended_early: the window of {found.id} should have been measured to its end")
        _verify_bound(unit, found, report)
        return found
    if report.window is None or not report.metrics:
        return None
    return measurements.being_watched(unit, database, report.window.start)


def _verify_bound(unit: UnitOfWork, measured: Recommendation, report: Report) -> None:
    if report.ended_early is None or measured.session_id is None:
        return
    metric, told = unit.sessions.get(measured.session_id).objective.metric, report.ended_early.metric
    if told != metric:
        raise InvalidReport(f"ended_early: the session of {measured.id} is about {metric}, got a bound of {told!r}")


def _session(unit: UnitOfWork, database: Database, report: Report, measured: Recommendation | None) -> Session | None:
    if measured is not None and measured.session_id is not None:
        return unit.sessions.get(measured.session_id)
    session = unit.sessions.open_one(database.id)
    if session is None or report.window is None or report.window.start < session.created_at:
        return None
    return session


def _stored(unit: UnitOfWork, arrival: Arrival) -> StoredReport:
    report, measured = arrival.report, arrival.measured
    configuration = arrival.configuration
    if report.measures is not None and measured is not None and report.failure is not None:
        # What failed is what was asked for; what is active by now may be what stood before it.
        configuration = {**(configuration or {}), **(measured.configuration or {})}
    return StoredReport(
        **facts_of.row(report, arrival.database.id, configuration, unit.now),
        session_id=arrival.session.id if arrival.session else None,
        recommendation_id=measured.id if measured else None,
    )


def _facts(arrival: Arrival) -> Iterator[object]:
    """What the report says, in no order: what follows from it, and when, is known elsewhere."""
    report, database = arrival.report, arrival.database
    yield Reported(database)
    yield from (GuardFired(database, event) for event in report.events)
    yield from (OutcomeTold(database, told, report.agent, report.epoch) for told in report.outcomes)
    yield from (RolledBackOnHost(database, told) for told in report.rolled_back)
    if arrival.measured is not None and (report.metrics or report.failure):
        yield Measured(arrival.measured.id, report)
    if not arrival.newest:
        return
    yield Heard(database, report, arrival.configuration)
    if arrival.configuration is not None:
        yield SettingsSeen(database, report, arrival.configuration)
    if report.window is not None and report.metrics:
        yield WindowSeen(database)


def _bind_p99(unit: UnitOfWork, arrival: Arrival) -> None:
    """The session's p99 is the first that counts: in a lab that of a measurement, not one from between two."""
    report, session = arrival.report, arrival.session
    if session is None or (session.mode == "lab" and report.measures is None):
        return
    if report.p99_source is not None and report.p99_of is not None and "p99_ms" in report.metrics:
        unit.sessions.bind_p99(session.id, report.p99_source, report.p99_of)


def _settings_wanted(unit: UnitOfWork, database_id: str, report: Report) -> bool:
    return unit.databases.settings(database_id, report.settings_hash) is None
