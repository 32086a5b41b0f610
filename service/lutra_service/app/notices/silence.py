"""Agents that fall silent, and those that report again: each silence is noticed once, by one check at intervals."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lutra_service.app.access import audit
from lutra_service.common.actor import SERVICE
from lutra_service.db.schema.records import Database
from lutra_service.db.store import Store, UnitOfWork

AT_LEAST = timedelta(minutes=5)
WINDOWS = 3
"""The number of window lengths without a report that are a silence, if that is longer."""
EVERY_S = 15.0
NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Silence:
    """`began_at` is when this service began: while it was down itself, no agent could report."""

    began_at: datetime

    def check(self, store: Store) -> None:
        """One turn: record the silences that began and ended."""
        found = store.read(lambda unit: unit.databases.silent_or_back(self._heard(unit.now)))
        for id_ in found:
            store.write(lambda unit, id_=id_: self._record(unit, id_))  # type: ignore[misc]

    def _heard(self, now: datetime) -> datetime:
        """Before this moment, a last report may be the beginning of a silence."""
        return now - AT_LEAST if now - self.began_at >= AT_LEAST else NEVER

    def _record(self, unit: UnitOfWork, id_: str) -> None:
        """Record the silence of a database or its end, unless another process has done so meanwhile."""
        database = unit.databases.lock(id_)
        last = database.last_report_at
        if last is None or database.retired_at is not None:
            return
        if database.silent_since is not None:
            if last > database.silent_since:
                unit.databases.change(id_, silent_since=None)
                why = f"no report arrived for {_span(last - database.silent_since)}"
                audit.record(unit, "agent.back", id_, None, {"why": why}, database_id=id_, by=SERVICE)
        elif unit.now - max(last, self.began_at) > _patience(unit, database):
            unit.databases.change(id_, silent_since=last)
            why = (
                f"no report has arrived since {last:%Y-%m-%d %H:%M} UTC: check whether `lutra-agent run` is running on "
                "its host, and run `lutra-agent check` there"
            )
            audit.record(unit, "agent.silent", id_, None, {"why": why}, database_id=id_, by=SERVICE)


def _patience(unit: UnitOfWork, database: Database) -> timedelta:
    newest = next(iter(unit.reports.windows(database.id, 1)), None)
    if newest is None or newest.window_start is None or newest.window_end is None:
        return AT_LEAST
    return max(AT_LEAST, WINDOWS * (newest.window_end - newest.window_start) / newest.windows)


def _span(time: timedelta) -> str:
    return f"{time.total_seconds() / 60:.0f} min"
