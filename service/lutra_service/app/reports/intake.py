"""The intake of a report: stored once, its facts recorded, and answered with the next directive."""

from __future__ import annotations

from lutra_models.errors import InvalidReport
from lutra_models.wire import Receipt, Report

from lutra_service.app.access import quota
from lutra_service.app.reports import reporters
from lutra_service.app.reports.arrival import arrived, bind_p99, facts, stored
from lutra_service.app.tuning.deliver import directives
from lutra_service.app.tuning.deliver.directive_holder import Holder
from lutra_service.db.schema.records import Database
from lutra_service.db.store import UnitOfWork


def accept(unit: UnitOfWork, database_id: str, report: Report) -> Receipt:
    """Store the report and act on it, or raise InvalidReport and change nothing. A duplicate gets the current directive
    again.
    """
    database, holder = unit.databases.lock(database_id), Holder(report.agent, report.epoch)
    if report.engine != database.engine:
        raise InvalidReport(f"engine {report.engine!r} reported, but {database_id} is {database.engine}")
    reporters.verify_welcome(database, holder, unit.now, report)
    duplicate = unit.reports.is_stored(database_id, report.agent, report.epoch, report.sequence)
    if duplicate:
        reporters.verify_same(unit, database_id, report)
    else:
        _record(unit, database, report)
    database = unit.databases.get(database_id)
    return Receipt(
        duplicate=duplicate,
        settings_wanted=unit.databases.settings(database_id, report.settings_hash) is None,
        directive=directives.hand_out(unit, database, holder),
        rules=database.rules,
    )


def _record(unit: UnitOfWork, database: Database, report: Report) -> None:
    """The report, what it says, and what follows from that."""
    quota.verify_room(unit, database.id)
    quota.verify_report(report)
    arrival = arrived(unit, database, report)
    unit.reports.add(stored(unit, arrival))
    bind_p99(unit, arrival)
    for fact in facts(arrival):
        unit.record(fact)
    unit.conclude()
