"""Repositories of sessions, recommendations, their requests and snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import and_, func, or_, select

from lutra_service.db.records import Recommendation, Request, Session, Snapshot
from lutra_service.db.repository import Repository
from lutra_service.db.tables import (
    DatabaseRow,
    RecommendationRow,
    RequestRow,
    SessionRow,
    SnapshotRow,
)


class Sessions(Repository[Session]):
    row = SessionRow
    record = Session
    noun = "session"

    def open_one(self, database_id: str) -> Session | None:
        return self._one(self.table.c.database_id == database_id, self.table.c.state.in_(("running", "paused")))

    def listed(self, database_id: str, limit: int, after: str | None) -> list[Session]:
        return self.page(self.table.c.database_id == database_id, limit=limit, after=after, newest_first=True)

    def step(self, session: Session, to: str, **values: Any) -> bool:
        """`session` in state `to`, where it is still in the state that it was read in."""
        return self.change(session.id, self.table.c.state == session.state, state=to, **values)

    def bind_p99(self, id_: str, source: str, of: str) -> bool:
        return self.change(id_, self.table.c.p99_source.is_(None), p99_source=source, p99_of=of)


class Recommendations(Repository[Recommendation]):
    row = RecommendationRow
    record = Recommendation
    noun = "recommendation"

    def by_key(self, database_id: str, key: str) -> Recommendation | None:
        return self._one(self.table.c.database_id == database_id, self.table.c.key == key)

    def listed(self, database_id: str, limit: int, after: str | None, state: str | None = None) -> list[Recommendation]:
        where = [self.table.c.database_id == database_id]
        if state is not None:
            where.append(self.table.c.state == state)
        return self.page(*where, limit=limit, after=after, newest_first=True)

    def of_session(self, session_id: str) -> list[Recommendation]:
        return self._many(select(self.table).where(self.table.c.session_id == session_id).order_by(self.table.c.id))

    def in_states(self, database_id: str, states: Sequence[str]) -> list[Recommendation]:
        c = self.table.c
        return self._many(select(self.table).where(c.database_id == database_id, c.state.in_(states)).order_by(c.id))

    def measured(self, database_id: str, limit: int = 1000) -> list[Recommendation]:
        c = self.table.c
        return self.page(c.database_id == database_id, c.ended_at.is_not(None), limit=limit, newest_first=True)

    def step(self, recommendation: Recommendation, to: str, **values: Any) -> bool:
        """In state `to`, where it is still in the state that it was read in."""
        return self.change(recommendation.id, self.table.c.state == recommendation.state, state=to, **values)

    def claimable(self, now: datetime, limit: int) -> list[Recommendation]:
        """Computations that nobody holds: never begun, or their lease ran out."""
        c = self.table.c
        free = or_(c.lease_until.is_(None), c.lease_until < now)
        return self._many(select(self.table).where(c.state == "computing", free).order_by(c.id).limit(limit))

    def claim(self, recommendation: Recommendation, until: datetime) -> bool:
        c = self.table.c
        unchanged = c.attempts == recommendation.attempts
        return self.change(
            recommendation.id,
            and_(c.state == "computing", unchanged),
            lease_until=until,
            attempts=recommendation.attempts + 1,
        )

    def renew(self, ids: Sequence[str], until: datetime) -> int:
        c = self.table.c
        return self._update(c.id.in_(ids), c.state == "computing", lease_until=until) if ids else 0

    def release(self, id_: str) -> bool:
        return self.change(id_, self.table.c.state == "computing", lease_until=None)

    def overdue(self, now: datetime, applied_before: datetime, silent_since: datetime) -> list[Recommendation]:
        """Approvals past their expiry that no agent was given, those whose agent never answered, and applied ones whose
        measurement never came."""
        c = self.table.c
        unseen = and_(c.state.in_(("proposed", "approved")), c.expires_at < now, c.handed_out_at.is_(None))
        lapsed = or_(c.expires_at < silent_since, c.withdrawn_at < silent_since)
        unanswered = and_(c.state == "approved", c.handed_out_at < silent_since, lapsed)
        unmeasured = and_(c.state == "applied", c.applied_at < applied_before)
        return self._many(select(self.table).where(or_(unseen, unanswered, unmeasured)).order_by(c.id))

    def withdrawn(self, database_id: str) -> list[Recommendation]:
        """Those that an agent had been given when they were withdrawn."""
        c = self.table.c
        withdrawn = and_(c.database_id == database_id, c.withdrawn_at.is_not(None))
        return self._many(select(self.table).where(withdrawn).order_by(c.id))

    def rollbacks_of(self, recommendation: Recommendation) -> list[Recommendation]:
        c = self.table.c
        of_it = (c.database_id == recommendation.database_id, c.kind == "rollback", c.parent_id == recommendation.id)
        return self._many(select(self.table).where(*of_it).order_by(c.id))


class Requests(Repository[Request]):
    row = RequestRow
    record = Request
    noun = "stored request of recommendation"

    def find(self, id_: str) -> Request | None:
        return self._one(self.table.c.recommendation_id == id_)


class Snapshots(Repository[Snapshot]):
    row = SnapshotRow
    record = Snapshot
    noun = "snapshot"

    def newest(self, database_id: str) -> Snapshot | None:
        found = self.page(self.table.c.database_id == database_id, limit=1, newest_first=True)
        return found[0] if found else None

    def of_others(self, session_id: str, engine: str, limit: int) -> list[str]:
        """Ids of the last snapshot of each other session on this engine, the latest first."""
        c = self.table.c
        last = func.max(c.id)
        asked = (
            select(last)
            .join(DatabaseRow, DatabaseRow.id == c.database_id)
            .where(DatabaseRow.engine == engine, c.session_id != session_id)
            .group_by(c.session_id)
            .order_by(last.desc())
            .limit(limit)
        )
        return list(self._db.execute(asked).scalars())

    def newest_id(self, database_id: str) -> str | None:
        c = self.table.c
        return self._db.execute(select(func.max(c.id)).where(c.database_id == database_id)).scalar()
