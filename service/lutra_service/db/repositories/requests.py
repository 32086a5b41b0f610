"""Repositories of the inputs and results of computations: requests, and fitted models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import select

from lutra_service.db.repositories.packed import pack, unpack
from lutra_service.db.repositories.repository import Repository
from lutra_service.db.schema.records import Snapshot, StoredRequest
from lutra_service.db.schema.tables import RecommendationRow, RequestRow, SnapshotRow


class Requests(Repository[StoredRequest]):
    row = RequestRow
    record = StoredRequest
    noun = "stored request of recommendation"

    def find(self, id_: str) -> StoredRequest | None:
        found = self._one(self.table.c.recommendation_id == id_)
        return found and replace(found, payload=unpack(found.payload))

    def put(self, id_: str, payload: dict[str, Any]) -> None:
        """Replaces the computation's previous input."""
        self._update(self.table.c.recommendation_id == id_, payload=_packed(payload))

    def _values(self, record: StoredRequest) -> dict[str, Any]:
        return {**super()._values(record), "payload": _packed(record.payload)}

    def _database_of(self, record: StoredRequest) -> str:
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

    def newest_ids(self, database_id: str, limit: int) -> list[str]:
        """The newest first."""
        c = self.table.c
        asked = select(c.id).where(c.database_id == database_id).order_by(c.id.desc()).limit(limit)
        return list(self._db.execute(asked).scalars())
