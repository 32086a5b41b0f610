"""The agents whose reports are accepted: none for a retired database, and only one agent per name while it is
active.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from lutra_models.wire import Report

from lutra_service.app.errors import DatabaseRetired, NameTaken
from lutra_service.app.tuning.deliver.directive_holder import REPLACED_AFTER, Holder
from lutra_service.db.schema.records import Database
from lutra_service.db.store import UnitOfWork

WINDOWS = 3
"""The number of an agent's windows that may be late before another agent takes its name over."""
TOLD_FOR = timedelta(minutes=10)
"""The time after the last refused report; an agent tries again sooner."""
AGAIN = timedelta(minutes=1)


def verify_welcome(database: Database, who: Holder, now: datetime, report: Report | None = None) -> None:
    """Raises DatabaseRetired, and NameTaken if an agent with another state folder recently reported under this name."""
    if database.retired_at is not None:
        raise DatabaseRetired(
            f"{database.id} was retired at {database.retired_at:%Y-%m-%d %H:%M} UTC: stop its agent, or put the "
            f"database back into use (`lutra databases unretire {database.id}`)"
        )
    if database.last_report_at is None or database.reporter in (None, str(who)):
        return
    name, _, _ = str(database.reporter).partition("/")
    window = report.window.end - report.window.start if report is not None and report.window else timedelta(0)
    silent, patience = now - database.last_report_at, max(REPLACED_AFTER, WINDOWS * window)
    if name == who.agent and silent < patience:
        raise NameTaken(
            f"an agent with a different state folder reports for {database.id} under the name {name!r}, most recently "
            f"{silent.total_seconds():.0f} s ago: give this agent a different `name` in [agent] of its file, or stop "
            f"the other one. This agent takes over {patience.total_seconds():.0f} s after the last report of the other"
        )


def verify_same(unit: UnitOfWork, database_id: str, report: Report) -> None:
    """Raises NameTaken if another report came under its number: two agents have copies of one state folder."""
    sent_at = unit.reports.sent_at(database_id, report.agent, report.epoch, report.sequence)
    if sent_at is not None and sent_at != report.sent_at:
        raise NameTaken(
            f"a different report of the agent {report.agent!r} has the number {report.sequence}, "
            f"sent at {sent_at:%H:%M:%S}"
            " UTC: the state folder is a copy of another agent's, or was restored from a backup. Stop one of the "
            "agents, or move `spool` out of this one's state folder and start it again"
        )


def note(unit: UnitOfWork, database_id: str, why: str) -> bool:
    """Record that a report was refused. Returns whether that is new."""
    last = unit.databases.get(database_id).rival_at
    if last is None or unit.now - last > AGAIN:
        unit.databases.change(database_id, rival=why[:1000], rival_at=unit.now)
    return last is None or unit.now - last > TOLD_FOR


def problems(database: Database, now: datetime) -> list[str]:
    """Problems that an operator should know about."""
    if database.rival is None or database.rival_at is None or now - database.rival_at > TOLD_FOR:
        return []
    return [f"a second agent is refused: {database.rival}"[:1000]]
