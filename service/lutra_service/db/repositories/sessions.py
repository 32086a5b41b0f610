"""Repository of tuning sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lutra_models.errors import LONGEST_MESSAGE
from lutra_models.lifecycle import OPEN_SESSIONS, SessionState, advance_session
from sqlalchemy import func, or_, select

from lutra_service.common.actor import SERVICE
from lutra_service.db.repositories.repository import Repository, RowMoved, remembered
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Session
from lutra_service.db.schema.tables import RecommendationRow, SessionRow
from lutra_service.db.schema.transitions import SessionTransition


class Sessions(Repository[Session]):
    row = SessionRow
    record = Session
    noun = "session"

    def of(self, recommendation: Recommendation) -> Session | None:
        """The session to which it belongs; None if it belongs to none."""
        return None if recommendation.session_id is None else self.get(recommendation.session_id)

    @remembered
    def open_one(self, database_id: str) -> Session | None:
        return self._one(self.table.c.database_id == database_id, self.table.c.state.in_(OPEN_SESSIONS))

    def listed(self, database_id: str, limit: int, after: str | None) -> list[Session]:
        return self.page(self.table.c.database_id == database_id, limit=limit, after=after, newest_first=True)

    def within(self, since: datetime, limit: int, only: str | None = None) -> list[Session]:
        """The newest `limit` that are open or ended after that moment, of all databases or of the one."""
        c = self.table.c
        where = [or_(c.state.in_(OPEN_SESSIONS), c.ended_at > since)]
        where += [] if only is None else [c.database_id == only]
        return self.page(*where, limit=limit, newest_first=True)

    def measured(self, least: int, limit: int) -> list[str]:
        """The newest sessions of all databases with at least this number of measured recommendations, newest first."""
        c = RecommendationRow.__table__.c
        enough = (
            select(c.session_id)
            .where(c.session_id.is_not(None), c.measured.is_not(None))
            .group_by(c.session_id)
            .having(func.count() >= least)
            .order_by(c.session_id.desc())
            .limit(limit)
        )
        return [str(id_) for id_ in self._db.execute(enough).scalars()]

    def add(self, record: Session, by: str = SERVICE) -> Session:
        super().add(record)
        self._news.facts.append(SessionTransition(record, None, record.state, by))
        return record

    def step(self, session: Session, to: SessionState, by: str, why: str = "", **values: Any) -> None:
        """Lead `session` to state `to`: the only way in which its state changes. `why` becomes its message.

        Raises IllegalTransition if its state does not lead there, and RowMoved if its state has changed.
        """
        state = advance_session(session.state, to)
        told = why[:LONGEST_MESSAGE]
        if not self.change(session.id, self.table.c.state == session.state, state=state, message=told, **values):
            raise RowMoved(f"{session.id} changed meanwhile; read it again")
        self._news.note(session.database_id)
        self._news.facts.append(SessionTransition(session, session.state, state, by, why))

    def bind_p99(self, id_: str, source: str, of: str) -> bool:
        return self.change(id_, self.table.c.p99_source.is_(None), p99_source=source, p99_of=of)
