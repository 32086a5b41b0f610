"""Repositories of a database's events: guards that fired, findings, and accepted risks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from lutra_models.lifecycle import RecommendationKind
from sqlalchemy import CursorResult, case, delete, exists, func, or_, select

from lutra_service.db.repositories.repository import Condition, Repository
from lutra_service.db.schema.records import Accepted, AuditEntry, Event, Finding
from lutra_service.db.schema.tables import AcceptedRow, AuditRow, EventRow, FindingRow, RecommendationRow

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

    def within(
        self, since: datetime, actions: Sequence[str], limit: int, only: str | None = None
    ) -> tuple[list[AuditEntry], dict[str, int]]:
        """The newest `limit` of these actions since then, of databases or of the one, and the number of each action. A
        rollback that was carried out is not among them: what it undid is.
        """
        c, r = self.table.c, RecommendationRow.__table__.c
        carried_out = exists().where(r.id == c.target, r.kind == RecommendationKind.ROLLBACK)
        undid = c.action.in_(("recommendation.apply", "recommendation.confirm")) & carried_out
        where = [c.at > since, c.action.in_(actions), c.database_id.is_not(None), ~undid]
        where += [] if only is None else [c.database_id == only]
        counted = self._db.execute(select(c.action, func.count()).where(*where).group_by(c.action))
        newest = self._many(select(self.table).where(*where).order_by(c.at.desc(), c.id.desc()).limit(limit))
        return newest, {str(action): int(count) for action, count in counted}

    def delete_audit(self, before: datetime) -> int:
        """Delete a batch of the entries from before that moment. Returns their number."""
        c = self.table.c
        old = select(c.id).where(c.at < before).order_by(c.at).limit(BATCH)
        return cast("CursorResult[Any]", self._db.execute(delete(self.table).where(c.id.in_(old)))).rowcount
