"""Repositories of a database's events: guards that fired, findings, and accepted risks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from sqlalchemy import CursorResult, delete, exists, func, select

from lutra_service.db.repositories.repository import Repository
from lutra_service.db.schema.records import Accepted, AuditEntry, Event, Finding
from lutra_service.db.schema.tables import AcceptedRow, AuditRow, EventRow, FindingRow

BATCH = 500


class Events(Repository[Event]):
    row = EventRow
    record = Event
    noun = "event"

    def add_once(self, event: Event) -> bool:
        """Whether it is new."""
        c = self.table.c
        new = self._one(c.database_id == event.database_id, c.agent_event == event.agent_event) is None
        if new:
            self.add(event)
        return new

    def listed(self, database_id: str, limit: int, after: str | None, since: datetime | None = None) -> list[Event]:
        """Newest first: those that happened after `since`."""
        c = self.table.c
        later = [] if since is None else [c.at > since]
        return self.page(c.database_id == database_id, *later, limit=limit, after=after, newest_first=True)

    def of_session(self, session_id: str, limit: int = 20) -> list[Event]:
        """The newest first."""
        return self.page(self.table.c.session_id == session_id, limit=limit, newest_first=True)

    def of_recommendation(self, recommendation_id: str) -> list[Event]:
        return self.page(self.table.c.recommendation_id == recommendation_id, limit=20, newest_first=True)


class Findings(Repository[Finding]):
    row = FindingRow
    record = Finding
    noun = "finding"

    def newest(self, database_id: str) -> dict[str, Finding]:
        """The last time that each finding was present, by name."""
        c = self.table.c
        last = select(func.max(c.id)).where(c.database_id == database_id).group_by(c.name)
        return {f.name: f for f in self._many(select(self.table).where(c.id.in_(last)))}

    def showing(self, database_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """The numbers of findings that show now and that nobody accepted, by database and kind."""
        c, a = self.table.c, AcceptedRow.__table__.c
        taken = exists().where(a.database_id == c.database_id, a.name == c.name, a.until > self._news.now)
        where = (c.database_id.in_(database_ids), c.gone_at.is_(None), ~taken)
        asked = select(c.database_id, c.kind, func.count()).where(*where).group_by(c.database_id, c.kind)
        found: dict[str, dict[str, int]] = {}
        for id_, kind, count in self._db.execute(asked):
            found.setdefault(id_, {})[kind] = count
        return found

    def listed(
        self, database_id: str, limit: int, after: str | None, since: datetime | None, gone: bool | None
    ) -> list[Finding]:
        """Newest first; those that showed after `since`, and those alone that are gone, or that are not."""
        c = self.table.c
        where = [] if since is None else [c.last_seen > since]
        where += [] if gone is None else [c.gone_at.is_not(None) if gone else c.gone_at.is_(None)]
        return self.page(c.database_id == database_id, *where, limit=limit, after=after, newest_first=True)


class AcceptedFindings(Repository[Accepted]):
    row = AcceptedRow
    record = Accepted
    noun = "accepted finding"

    def of(self, database_id: str) -> list[Accepted]:
        return self._many(select(self.table).where(self.table.c.database_id == database_id).order_by(self.table.c.name))

    def withdraw(self, accepted: Accepted) -> None:
        self._forget()
        self._db.execute(delete(self.table).where(self.table.c.id == accepted.id))


class Audit(Repository[AuditEntry]):
    row = AuditRow
    record = AuditEntry
    noun = "audit entry"

    def listed(
        self,
        limit: int,
        after: str | None,
        database_id: str | None = None,
        action: str | None = None,
        since: datetime | None = None,
    ) -> list[AuditEntry]:
        """Newest first: those from after `since`."""
        c = self.table.c
        wanted = ((c.database_id, database_id), (c.action, action))
        where = [column == value for column, value in wanted if value is not None]
        where += [] if since is None else [c.at > since]
        return self.page(*where, limit=limit, after=after, newest_first=True)

    def delete_audit(self, before: datetime) -> int:
        """Delete a batch of the entries from before that moment. Returns their number."""
        c = self.table.c
        old = select(c.id).where(c.at < before).order_by(c.at).limit(BATCH)
        return cast("CursorResult[Any]", self._db.execute(delete(self.table).where(c.id.in_(old)))).rowcount
