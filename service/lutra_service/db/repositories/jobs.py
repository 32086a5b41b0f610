"""Repositories of what computations are given and of what they leave: their requests, and fitted models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lutra_models.lifecycle import RecommendationState as State
from sqlalchemy import ColumnElement, and_, false, func, or_, select

from lutra_service.db.repositories.packed import pack, unpack
from lutra_service.db.repositories.repository import Repository
from lutra_service.db.schema.policy import DEFAULT_PAST, SHARED
from lutra_service.db.schema.records import Database, Request, Snapshot
from lutra_service.db.schema.tables import DatabaseRow, RecommendationRow, RequestRow, SnapshotRow

PAST_READINGS = 3


class Requests(Repository[Request]):
    row = RequestRow
    record = Request
    noun = "stored request of recommendation"

    def find(self, id_: str) -> Request | None:
        found = self._one(self.table.c.recommendation_id == id_)
        return found and replace(found, payload=unpack(found.payload))

    def put(self, id_: str, payload: dict[str, Any]) -> None:
        """In place of what the computation was given before."""
        self._update(self.table.c.recommendation_id == id_, payload=_packed(payload))

    def _values(self, record: Request) -> dict[str, Any]:
        return {**super()._values(record), "payload": _packed(record.payload)}

    def _database_of(self, record: Request) -> str:
        c = RecommendationRow.__table__.c
        found = self._db.execute(select(c.database_id).where(c.id == record.recommendation_id))
        return str(found.scalar_one())


def _packed(payload: dict[str, Any]) -> dict[str, Any]:
    """`past` stays readable: it says which snapshots are still needed."""
    return pack(payload, ("past",))


class Snapshots(Repository[Snapshot]):
    row = SnapshotRow
    record = Snapshot
    noun = "snapshot"

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

    def session_of(self, id_: str) -> str | None:
        found = self._db.execute(select(self.table.c.session_id).where(self.table.c.id == id_))
        return found.scalar_one_or_none()

    def newest_ids(self, database_id: str, limit: int) -> list[str]:
        """The newest first."""
        c = self.table.c
        asked = select(c.id).where(c.database_id == database_id).order_by(c.id.desc()).limit(limit)
        return list(self._db.execute(asked).scalars())


def _measured_sessions() -> Any:
    """Sessions that have enough confirmed readings for others to learn from."""
    c = RecommendationRow.__table__.c
    measured = select(c.session_id).where(c.state == State.CONFIRMED, c.measured.is_not(None))
    return measured.group_by(c.session_id).having(func.count() >= PAST_READINGS)


def _shared_with(database: Database) -> ColumnElement[bool]:
    """Which other databases share with `database` what was learned: the stricter of the two policies counts."""
    own = database.past
    if own == "none":
        return false()
    theirs = func.coalesce(DatabaseRow.policy[SHARED].as_string(), DEFAULT_PAST)
    alike = and_(DatabaseRow.label.is_not_distinct_from(database.label), theirs != "none")
    return alike if own == "label" else or_(theirs == "all", alike)
