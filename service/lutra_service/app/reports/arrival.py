"""A report compared with the stored facts of its database: is it the newest, which settings and which change does it
measure?
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from lutra_models import serial
from lutra_models.catalog.readable import Readable, readable
from lutra_models.errors import InvalidReport
from lutra_models.wire import Report, ReportedWindow

from lutra_service.app.access import quota
from lutra_service.app.reports.configurations import configuration
from lutra_service.app.tuning.deliver.directive_holder import Holder
from lutra_service.app.tuning.result import measurements
from lutra_service.app.tuning.steps.facts import (
    GuardFired,
    Heard,
    Measured,
    OutcomeTold,
    Reported,
    RolledBackOnHost,
    SettingsChanged,
    SettingsSeen,
    WindowSeen,
)
from lutra_service.common.documents import Document
from lutra_service.common.limits import SETTINGS_BYTES
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Database, Session, StoredReport
from lutra_service.db.store import UnitOfWork


@dataclass(frozen=True)
class Arrival:
    """A report during its intake. `newest`: no later one of its agent or its database has arrived. `before` is the
    database as it was until then.
    """

    report: Report
    database: Database
    newest: bool
    configuration: Document | None
    session: Session | None
    measured: Recommendation | None
    before: Database


def arrived(unit: UnitOfWork, database: Database, report: Report) -> Arrival:
    newest, before = _newest(unit, database, report), database
    configuration = _configuration(unit, database, report)
    if newest:
        database = _learn(unit, database, report)
    measured = _measured(unit, database, report)
    session = _session(unit, database, report, measured)
    return Arrival(report, database, newest, configuration, session, measured, before)


def _newest(unit: UnitOfWork, database: Database, report: Report) -> bool:
    seen = unit.reports.newest_sequence(database.id, report.agent, report.epoch)
    return (seen is None or report.sequence >= seen) and is_latest(report, database, unit.now)


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
    learned = database_facts(report, database, unreadable.values(), unit.now)
    if unit.databases.settings(database.id, report.settings_hash) is not None:
        learned["settings_hash"] = report.settings_hash
    unit.databases.change(database.id, **learned)
    return unit.databases.get(database.id)


def _measured(unit: UnitOfWork, database: Database, report: Report) -> Recommendation | None:
    """The recommendation that the report measures: named by it, else the one now applied outside a lab."""
    if report.measures is not None:
        recommendation = unit.recommendations.find(report.measures)
        if recommendation is None or recommendation.database_id != database.id:
            raise InvalidReport(f"measures names {report.measures!r}, which is not a directive of {database.id}")
        if report.ended_early is not None and (
            recommendation.proposal is None or recommendation.proposal.must_reach is None
        ):
            raise InvalidReport(f"ended_early: the window of {recommendation.id} should have been measured to its end")
        _verify_bound(unit, recommendation, report)
        return recommendation
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


def stored(unit: UnitOfWork, arrival: Arrival) -> StoredReport:
    report, measured = arrival.report, arrival.measured
    configuration = arrival.configuration
    if report.measures is not None and measured is not None and report.failure is not None:
        # What failed is what was asked for; what is active by now may be what stood before it.
        configuration = {**(configuration or {}), **measured.configuration}
    return StoredReport(
        **row(report, arrival.database.id, configuration, unit.now),
        session_id=arrival.session.id if arrival.session else None,
        recommendation_id=measured.id if measured else None,
    )


def facts(arrival: Arrival) -> Iterator[object]:
    """The facts of the report, in no particular order: their consequences are defined elsewhere."""
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
        former, is_same = arrival.before.settings_hash, arrival.before.identity == database.identity
        if is_same and former not in (None, database.settings_hash) and not report.rolled_back:
            yield SettingsChanged(database, str(former))
    if report.window is not None and report.metrics:
        yield WindowSeen(database)


def bind_p99(unit: UnitOfWork, arrival: Arrival) -> None:
    """The session's p99 source is the first one that counts: in a lab, the source of a measurement, not of a window
    between two.
    """
    report, session = arrival.report, arrival.session
    if session is None or (session.mode == "lab" and report.measures is None):
        return
    if report.p99_source is not None and report.p99_of is not None and "p99_ms" in report.metrics:
        unit.sessions.bind_p99(session.id, report.p99_source, report.p99_of)


def until(window: ReportedWindow, now: datetime) -> datetime:
    """A clock that was ahead for a while must not make all later reports look old."""
    return min(window.end, now)


def is_latest(report: Report, database: Database, now: datetime) -> bool:
    """Whether nothing newer is known. For one agent the sequence decides, because its clock may be set back; otherwise
    the windows do.
    """
    if database.reporter == str(Holder(report.agent, report.epoch)) and database.reporter_sequence is not None:
        return report.sequence >= database.reporter_sequence
    window, last = report.window, database.last_window_end
    return window is None or last is None or until(window, now) >= last


def database_facts(report: Report, database: Database, unreadable: Iterable[str], now: datetime) -> Document:
    """The database's facts are those of its newest report, except its settings, which may still arrive later."""
    status = report.status.model_dump(mode="json")
    left_out = [f"a setting is ignored: {why}"[:1000] for why in unreadable]
    window = report.window
    return {
        "engine_version": report.engine_version,
        "role": report.role,
        "identifier": report.identifier,
        "host": asdict(report.host),
        "peak_connections": max(report.peak_connections, database.peak_connections),
        "agent_status": {**status, "problems": [*status["problems"], *left_out]},
        "last_report_at": now,
        "reporter": str(Holder(report.agent, report.epoch)),
        "reporter_sequence": report.sequence,
        "context": dict(report.context) or database.context,
        "last_window_end": database.last_window_end if window is None else until(window, now),
    }


def row(report: Report, database_id: str, configuration: Any, now: datetime) -> dict[str, Any]:
    """The columns of a stored report that the report itself fills. `configuration`: the parsed one that was active."""
    window = report.window
    return {
        "database_id": database_id,
        "agent": report.agent,
        "epoch": report.epoch,
        "sequence": report.sequence,
        "sent_at": report.sent_at,
        "received_at": now,
        "window_start": window and window.start,
        "window_end": window and window.end,
        "settings_hash": report.settings_hash,
        "configuration": configuration,
        "metrics": dict(report.metrics),
        "texts": dict(report.texts) or None,
        "context": dict(report.context),
        "p99_source": report.p99_source,
        "p99_of": report.p99_of,
        "failure": report.failure,
        "ended_early": report.ended_early and report.ended_early.model_dump(),
        "outcomes": [o.model_dump(mode="json") for o in report.outcomes],
    }
