"""Repositories of a database's events: guards that fired, findings, and accepted risks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import case, delete, exists, func, or_, select

from lutra_service.db.repositories.repository import Condition, Repository
from lutra_service.db.schema.records import Accepted, Event, Finding
from lutra_service.db.schema.tables import AcceptedRow, EventRow, FindingRow


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
        c = self.table.c
        where = (c.database_id.in_(database_ids), c.gone_at.is_(None), ~self._accepted)
        asked = select(c.database_id, c.kind, func.count()).where(*where).group_by(c.database_id, c.kind)
        found: dict[str, dict[str, int]] = {}
        for id_, kind, count in self._db.execute(asked):
            found.setdefault(id_, {})[kind] = count
        return found

    def current(self, kinds: Sequence[str], limit: int, only: str | None = None) -> list[Finding]:
        """The strongest `limit` of these kinds that show now and that nobody accepted: by kind, in the given order."""
        c = self.table.c
        where = (c.gone_at.is_(None), c.kind.in_(kinds), ~self._accepted)
        place = case({kind: place for place, kind in enumerate(kinds)}, value=c.kind)
        asked = select(self.table).where(*where, *self._of(only)).order_by(place, c.strength.desc(), c.id).limit(limit)
        return self._many(asked)

    def gone(self, kinds: Sequence[str], since: datetime, limit: int, only: str | None = None) -> list[Finding]:
        """The newest `limit` of these kinds that disappeared after that moment and have not come back."""
        c, later = self.table.c, self.table.alias().c
        since_then = or_(later.gone_at.is_(None), later.gone_at > c.gone_at)
        back = exists().where(later.database_id == c.database_id, later.name == c.name, since_then)
        where = (c.gone_at > since, c.kind.in_(kinds), ~back)
        return self._many(select(self.table).where(*where, *self._of(only)).order_by(c.gone_at.desc()).limit(limit))

    def _of(self, only: str | None) -> list[Condition]:
        return [] if only is None else [self.table.c.database_id == only]

    @property
    def _accepted(self) -> Condition:
        """Whether somebody accepted the risk of a row."""
        c, a = self.table.c, AcceptedRow.__table__.c
        return exists().where(a.database_id == c.database_id, a.name == c.name, a.until > self._news.now)

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
