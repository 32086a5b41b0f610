"""Repositories of sessions, recommendations, their requests and snapshots."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, exists, false, func, or_, select

from lutra_service.db.records import Database, Recommendation, Request, Session, Snapshot, Waiting
from lutra_service.db.repository import Repository
from lutra_service.db.tables import (
    DatabaseRow,
    RecommendationRow,
    RequestRow,
    SessionRow,
    SnapshotRow,
)

EVERY_PAST, SAME_LABEL, NO_PAST = "all", "label", "none"
"""The policy `past`: whose models a database leans on, and who may lean on its own; those without a label share one."""
PAST_READINGS = 3


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

    def waiting(self, now: datetime, busy: Collection[str]) -> list[Waiting]:
        """Of each database the computation that waits for the longest time, in the order of asking.

        Databases that are `busy`, or have a computation that somebody holds, have none.
        """
        c, held = self.table.c, self.table.alias().c
        leased = exists().where(held.database_id == c.database_id, held.state == "computing", held.lease_until >= now)
        first = func.min(c.id)
        found = (
            select(first.label("recommendation_id"), c.database_id)
            .where(c.state == "computing", ~leased, c.database_id.not_in(busy))
            .group_by(c.database_id)
            .order_by(first)
        )
        return [Waiting(**row) for row in self._db.execute(found).mappings()]

    def claim(self, id_: str, now: datetime, until: datetime) -> bool:
        c = self.table.c
        free = or_(c.lease_until.is_(None), c.lease_until < now)
        return self.change(id_, c.state == "computing", free, lease_until=until)

    def computing(self, ids: Sequence[str]) -> set[str]:
        """Those of `ids` whose answer is still waited for."""
        c = self.table.c
        return set(self._db.execute(select(c.id).where(c.id.in_(ids), c.state == "computing")).scalars())

    def renew(self, ids: Sequence[str], until: datetime) -> int:
        """One that was released meanwhile stays so."""
        c = self.table.c
        held = and_(c.id.in_(ids), c.state == "computing", c.lease_until.is_not(None))
        return self._update(held, lease_until=until) if ids else 0

    def release(self, id_: str) -> bool:
        return self.change(id_, self.table.c.state == "computing", lease_until=None)

    def overdue(self, now: datetime, applied_before: datetime) -> list[Recommendation]:
        """Approved ones past their expiry, and applied ones whose measurement never came."""
        c = self.table.c
        late = and_(c.state.in_(("proposed", "approved")), c.expires_at < now)
        silent = and_(c.state == "applied", c.applied_at < applied_before)
        return self._many(select(self.table).where(or_(late, silent)).order_by(c.id))


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

    def of_others(self, session_id: str, database: Database, limit: int) -> list[str]:
        """Ids of models that other sessions on this engine left, the latest first.

        Of the database itself each session's last one. Of another database, where the policies of both allow it, only
        the last one, and only of a session with enough confirmed readings: no database can push the others out.
        """
        c = self.table.c
        own = select(func.max(c.id)).where(c.database_id == database.id, c.session_id != session_id)
        others = (
            select(func.max(c.id))
            .join(DatabaseRow, DatabaseRow.id == c.database_id)
            .where(DatabaseRow.id != database.id, DatabaseRow.engine == database.engine)
            .where(_shared_with(database), c.session_id.in_(_measured_sessions()))
        )
        asked = own.group_by(c.session_id).union(others.group_by(c.database_id))
        return sorted(self._db.execute(asked).scalars(), reverse=True)[:limit]

    def newest_id(self, database_id: str) -> str | None:
        c = self.table.c
        return self._db.execute(select(func.max(c.id)).where(c.database_id == database_id)).scalar()


def _measured_sessions() -> Any:
    """Sessions that have enough confirmed readings for others to learn from."""
    c = RecommendationRow.__table__.c
    measured = select(c.session_id).where(c.state == "confirmed", c.measured.is_not(None))
    return measured.group_by(c.session_id).having(func.count() >= PAST_READINGS)


def _shared_with(database: Database) -> ColumnElement[bool]:
    """Which other databases share with `database` what was learned: the stricter of the two policies counts."""
    own = database.policy.get("past", SAME_LABEL)
    if own == NO_PAST:
        return false()
    theirs = func.coalesce(DatabaseRow.policy["past"].as_string(), SAME_LABEL)
    alike = and_(DatabaseRow.label.is_not_distinct_from(database.label), theirs != NO_PAST)
    return alike if own == SAME_LABEL else or_(theirs == EVERY_PAST, alike)
