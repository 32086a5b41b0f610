"""Repositories of sessions, recommendations, their requests, reports and snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import and_, func, or_, select

from lutra_service.db.records import Document, Recommendation, Request, Session, Snapshot, StoredReport
from lutra_service.db.repository import Repository
from lutra_service.db.tables import (
    DatabaseRow,
    RecommendationRow,
    ReportRow,
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


class Reports(Repository[StoredReport]):
    row = ReportRow
    record = StoredReport
    noun = "report"

    def add(self, record: StoredReport) -> StoredReport:
        values = {k: v for k, v in record.__dict__.items() if k != "id"}
        self._db.execute(self.table.insert().values(values))
        return record

    def numbered(self, database_id: str, agent: str, epoch: str, sequence: int) -> StoredReport | None:
        """The report itself, or a later one into which old windows were drawn: an agent sends them in order."""
        c = self.table.c
        held = or_(c.sequence == sequence, and_(c.windows > 1, c.sequence > sequence))
        return self._one(c.database_id == database_id, c.agent == agent, c.epoch == epoch, held)

    def replace(self, id_: int | None, **values: Any) -> None:
        self._update(self.table.c.id == id_, **values)

    def newest_sequence(self, database_id: str, agent: str, epoch: str) -> int | None:
        c = self.table.c
        return self._db.execute(
            select(func.max(c.sequence)).where(c.database_id == database_id, c.agent == agent, c.epoch == epoch)
        ).scalar()

    def of_session(self, session_id: str) -> list[StoredReport]:
        """Every window and failure of a session, in the order in which they arrived."""
        c = self.table.c
        useful = or_(c.window_end.is_not(None), c.failure.is_not(None))
        return self._many(select(self.table).where(c.session_id == session_id, useful).order_by(c.id))

    def windows(self, database_id: str, limit: int, after: int | None) -> list[StoredReport]:
        """Newest first, from below the row `after`."""
        c = self.table.c
        statement = select(self.table).where(c.database_id == database_id, c.window_end.is_not(None))
        if after is not None:
            statement = statement.where(c.id < after)
        return self._many(statement.order_by(c.id.desc()).limit(limit))

    def of_recommendation(self, recommendation_id: str) -> list[StoredReport]:
        c = self.table.c
        return self._many(select(self.table).where(c.recommendation_id == recommendation_id).order_by(c.id))

    def sequences(self, database_id: str) -> list[int]:
        """Every stored report's number, whichever agent's."""
        c = self.table.c
        return list(self._db.execute(select(c.sequence).where(c.database_id == database_id).order_by(c.id)).scalars())

    def fill_configuration(self, database_id: str, settings_hash: str, configuration: Document) -> int:
        """For the reports that came before the settings that their hash names."""
        c = self.table.c
        return self._update(
            c.database_id == database_id,
            c.settings_hash == settings_hash,
            c.configuration.is_(None),
            configuration=configuration,
        )


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
