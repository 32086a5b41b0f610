"""A report taken in: stored once, its facts learned, its outcomes and measurement given to what they belong to."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from datetime import datetime

from lutra_models import serial
from lutra_models.catalog import load
from lutra_models.catalog.readable import Readable
from lutra_models.errors import InvalidReport, LutraError
from lutra_models.server import Server
from lutra_models.wire import Receipt, Report, ReportedWindow

from lutra_service.app import directives, events, outcomes, quota, rules, sessions, undoing, withdrawing
from lutra_service.app.holding import Holder
from lutra_service.db.records import Database, Document, Recommendation, Session, StoredReport
from lutra_service.db.store import Unit
from lutra_service.limits import REPORT_BYTES, SETTINGS_BYTES

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Arrival:
    """A report on its way in. `newest`: nothing later was seen of its agent or its database."""

    report: Report
    database: Database
    newest: bool
    configuration: Document | None
    session: Session | None
    measured: Recommendation | None


def accept(unit: Unit, database_id: str, report: Report) -> Receipt:
    """Store and act, or raise InvalidReport and change nothing. A duplicate gets the current directive again."""
    database = unit.databases.lock(database_id)
    if report.engine != database.engine:
        raise InvalidReport(f"engine {report.engine!r} reported, but {database_id} is {database.engine}")
    if unit.reports.numbered(database_id, report.agent, report.epoch, report.sequence) is not None:
        return Receipt(
            duplicate=True,
            settings_wanted=_settings_wanted(unit, database_id, report),
            directive=directives.hand_out(unit, database, Holder(report.agent, report.epoch)),
            rules=rules.rules_of(database),
        )
    quota.verify_room(unit, database_id)
    quota.verify_size("the report", report.model_dump(mode="json", exclude={"settings"}), REPORT_BYTES)
    arrival = _arrival(unit, database, report)
    unit.reports.add(_stored(unit, arrival))
    _act(unit, arrival)
    unit.announce(database_id)
    database = unit.databases.get(database_id)
    return Receipt(
        settings_wanted=_settings_wanted(unit, database_id, report),
        directive=directives.hand_out(unit, database, Holder(report.agent, report.epoch)),
        rules=rules.rules_of(database),
    )


def _arrival(unit: Unit, database: Database, report: Report) -> Arrival:
    newest = _newest(unit, database, report)
    configuration = _configuration(unit, database, report)
    if newest:
        database = _learn(unit, database, report)
    measured = _measured(unit, database, report)
    return Arrival(report, database, newest, configuration, _session(unit, database, report, measured), measured)


def _newest(unit: Unit, database: Database, report: Report) -> bool:
    seen = unit.reports.newest_sequence(database.id, report.agent, report.epoch)
    if seen is not None and report.sequence < seen:
        return False
    window, last = report.window, database.last_window_end
    return window is None or last is None or _until(unit, window) >= last


def _until(unit: Unit, window: ReportedWindow) -> datetime:
    """A clock that was ahead for a while must not make everything after it old."""
    return min(window.end, unit.now)


def _configuration(unit: Unit, database: Database, report: Report) -> Document | None:
    """The parsed configuration that the report's hash names; None until the settings themselves have come."""
    found = _readable(unit, database, report)
    if found is None:
        return None
    facts = report.host, report.role, report.peak_connections, report.identifier
    server = Server(report.engine, report.engine_version, found.settings, *facts)
    try:
        configuration = dict(load(report.engine).read(server))
    except LutraError as error:
        raise InvalidReport(f"settings: {error}") from error
    if report.settings is not None:
        document = serial.settings_to_dict(found.settings)
        quota.verify_size("settings", {"settings": document}, SETTINGS_BYTES)
        unit.databases.add_settings(database.id, report.settings_hash, document, found.unreadable, unit.now)
        unit.reports.fill_configuration(database.id, report.settings_hash, configuration)
    return configuration


def _readable(unit: Unit, database: Database, report: Report) -> Readable | None:
    """The settings that the report's hash names, as far as the catalogue can read them."""
    settings = report.settings
    if settings is None:
        stored = unit.databases.settings(database.id, report.settings_hash)
        settings = None if stored is None else serial.settings_from_dict(stored)
    return None if settings is None else load(report.engine).readable(settings)


def _agent_status(unit: Unit, database: Database, report: Report) -> Document:
    """What the agent says of itself; a setting that nobody can read is one of its problems."""
    status = report.status.model_dump(mode="json")
    unreadable = unit.databases.unreadable(database.id, report.settings_hash)
    left_out = [f"a setting is left out: {why}"[:1000] for why in unreadable.values()]
    return {**status, "problems": [*status["problems"], *left_out]}


def _learn(unit: Unit, database: Database, report: Report) -> Database:
    """The database's facts are those of its newest report."""
    facts: Document = {
        "engine_version": report.engine_version,
        "role": report.role,
        "identifier": report.identifier,
        "host": asdict(report.host),
        "peak_connections": max(report.peak_connections, database.peak_connections),
        "agent_status": _agent_status(unit, database, report),
        "last_report_at": unit.now,
        "reporter": str(Holder(report.agent, report.epoch)),
    }
    if report.context:
        facts["context"] = dict(report.context)
    if unit.databases.settings(database.id, report.settings_hash) is not None:
        facts["settings_hash"] = report.settings_hash
    if report.window is not None:
        facts["last_window_end"] = _until(unit, report.window)
    unit.databases.change(database.id, **facts)
    return unit.databases.get(database.id)


def _measured(unit: Unit, database: Database, report: Report) -> Recommendation | None:
    """The recommendation that the report measures: named by it, else the one now applied outside a lab."""
    if report.measures is not None:
        found = unit.recommendations.find(report.measures)
        if found is None or found.database_id != database.id:
            raise InvalidReport(f"measures names {report.measures!r}, which is no directive of {database.id}")
        return found
    if report.window is None or not report.metrics:
        return None
    return outcomes.being_watched(unit, database, report.window.start)


def _session(unit: Unit, database: Database, report: Report, measured: Recommendation | None) -> Session | None:
    if measured is not None and measured.session_id is not None:
        return unit.sessions.get(measured.session_id)
    session = unit.sessions.open_one(database.id)
    if session is None or report.window is None or report.window.start < session.created_at:
        return None
    return session


def _stored(unit: Unit, arrival: Arrival) -> StoredReport:
    report, measured = arrival.report, arrival.measured
    configuration = arrival.configuration
    if report.measures is not None and measured is not None and report.failure is not None:
        # What failed is what was asked for; what is active by now may be what stood before it.
        configuration = {**(configuration or {}), **(measured.configuration or {})}
    return StoredReport(
        database_id=arrival.database.id,
        session_id=arrival.session.id if arrival.session else None,
        recommendation_id=measured.id if measured else None,
        agent=report.agent,
        epoch=report.epoch,
        sequence=report.sequence,
        sent_at=report.sent_at,
        received_at=unit.now,
        window_start=report.window.start if report.window else None,
        window_end=report.window.end if report.window else None,
        settings_hash=report.settings_hash,
        configuration=configuration,
        metrics=dict(report.metrics),
        context=dict(report.context),
        p99_source=report.p99_source,
        p99_of=report.p99_of,
        failure=report.failure,
        outcomes=[o.model_dump(mode="json") for o in report.outcomes],
    )


def _act(unit: Unit, arrival: Arrival) -> None:
    report, database = arrival.report, arrival.database
    _bind_p99(unit, arrival)
    for event in report.events:
        events.record(unit, database, event)
    for outcome in report.outcomes:
        outcomes.record_outcome(unit, database, outcome, report.epoch)
    if arrival.newest and arrival.configuration is not None:
        outcomes.notice_active(unit, database, arrival.configuration)
        undoing.undo_forgotten(unit, database, report)
    if arrival.measured is not None and (report.metrics or report.failure):
        outcomes.record_measurement(unit, arrival.measured.id, report)
    if arrival.newest:
        withdrawing.settle(unit, database, report, arrival.configuration)
    undoing.undo_withdrawn(unit, database)
    if arrival.newest:
        sessions.advance(unit, database)


def _bind_p99(unit: Unit, arrival: Arrival) -> None:
    """The session's p99 is the first that counts: in a lab that of a measurement, not one from between two."""
    report, session = arrival.report, arrival.session
    if session is None or (session.mode == "lab" and report.measures is None):
        return
    if report.p99_source is not None and report.p99_of is not None and "p99_ms" in report.metrics:
        unit.sessions.bind_p99(session.id, report.p99_source, report.p99_of)


def _settings_wanted(unit: Unit, database_id: str, report: Report) -> bool:
    return unit.databases.settings(database_id, report.settings_hash) is None
