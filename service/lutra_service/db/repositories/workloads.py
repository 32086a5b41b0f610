"""The repository of past workloads: what the memory looks at, and who may."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from lutra_models.lifecycle import RecommendationState as State
from sqlalchemy import ColumnElement, and_, delete, false, func, or_, select
from sqlalchemy import Table as SqlTable

from lutra_service.common.documents import Document
from lutra_service.db.repositories.packed import pack, unpack
from lutra_service.db.repositories.repository import Repository
from lutra_service.db.schema.policy import DEFAULT_PAST, SHARED
from lutra_service.db.schema.records import Database, Workload
from lutra_service.db.schema.tables import DatabaseRow, RecommendationRow, SnapshotRow, WorkloadRow

_C = cast(SqlTable, WorkloadRow.__table__).c
_SNAPSHOTS = cast(SqlTable, SnapshotRow.__table__).c
LOOKED_AT = (_C.id, _C.engine, _C.database_id, _C.readings, _C.taught, _C.snapshot_id, _C.merged_into, _C.changed_at)


@dataclass(frozen=True)
class Remembered:
    """What the memory reads of a workload: not its history."""

    id: str
    engine: str
    database_id: str | None
    readings: int
    taught: Document | None
    snapshot_id: str | None
    merged_into: str | None
    changed_at: datetime

    @property
    def teaches(self) -> bool:
        """Whether others may lean on it at all."""
        return self.taught is not None and self.snapshot_id is not None and self.merged_into is None


class Workloads(Repository[Workload]):
    row = WorkloadRow
    record = Workload
    noun = "workload"

    def of_session(self, session_id: str) -> Workload | None:
        return self._one(_C.session_id == session_id)

    def of_database(self, database_id: str) -> list[Workload]:
        """Those that were not merged, the oldest first."""
        asked = select(self.table).where(_C.database_id == database_id, _C.merged_into.is_(None)).order_by(_C.id)
        return self._many(asked)

    def imported(self, key: str) -> Workload | None:
        """The data set of this content that belongs to no database."""
        return self._one(_C.key == key, _C.database_id.is_(None))

    def owners(self, database: Database) -> list[str]:
        """The other databases that share with `database` what was learned: the stricter of the two policies counts."""
        c = cast(SqlTable, DatabaseRow.__table__).c
        others = select(c.id).where(c.engine == database.engine, c.id != database.id, _shared_with(database))
        return list(self._db.execute(others).scalars())

    def confirmed(self, session_id: str) -> int:
        """How many readings of the session were confirmed: others learn from a session with enough of them."""
        c = cast(SqlTable, RecommendationRow.__table__).c
        asked = select(func.count()).where(c.session_id == session_id, c.state == State.CONFIRMED)
        return self._db.execute(asked.where(c.measured.is_not(None))).scalar_one()

    def extent(self) -> tuple[int, datetime | None]:
        """How many there are, and when one changed last: where both are as they were, nothing changed."""
        row = self._db.execute(select(func.count(), func.max(_C.changed_at))).one()
        return int(row[0]), row[1]

    def changes(self, since: datetime | None) -> list[tuple[str, datetime]]:
        """Ids of those that changed since a moment, each with when; of all without one."""
        asked = select(_C.id, _C.changed_at)
        return [(r[0], r[1]) for r in self._db.execute(asked if since is None else asked.where(_C.changed_at >= since))]

    def look(self, ids: Sequence[str]) -> list[Remembered]:
        found = self._db.execute(select(*LOOKED_AT).where(_C.id.in_(ids))).mappings()
        return [Remembered(**row) for row in found]

    def put(self, record: Workload) -> None:
        """Add it, or replace what it was."""
        if self.find(record.id) is None:
            self.add(record)
            return
        values = self._values(record)
        self.change(values.pop("id"), **values)

    def unfitted(self, fitted_with: str, now: datetime, limit: int) -> list[str]:
        """Ids of those that are to be fitted and that nobody fits, the oldest first."""
        waiting = select(_C.id).where(_unfitted(fitted_with), or_(_C.lease_until.is_(None), _C.lease_until < now))
        return list(self._db.execute(waiting.order_by(_C.id).limit(limit)).scalars())

    def count_unfitted(self, fitted_with: str) -> int:
        return self._db.execute(select(func.count()).where(_unfitted(fitted_with))).scalar_one()

    def claim(self, id_: str, fitted_with: str, now: datetime, until: datetime) -> bool:
        """Whether the caller may fit it: nobody else does."""
        free = or_(_C.lease_until.is_(None), _C.lease_until < now)
        return self.change(id_, _unfitted(fitted_with), free, lease_until=until)

    def unknown_sessions(self, limit: int) -> list[str]:
        """Of sessions that left a model before there was a memory, the last model's id."""
        known = select(_C.session_id).where(_C.session_id.is_not(None))
        lasts = select(func.max(_SNAPSHOTS.id)).where(
            _SNAPSHOTS.session_id.is_not(None), _SNAPSHOTS.session_id.not_in(known)
        )
        return list(self._db.execute(lasts.group_by(_SNAPSHOTS.session_id).limit(limit)).scalars())

    def delete_surplus(self, database_id: str, keep: int) -> int:
        """All but the newest `keep` of a database that were not merged: those teach, one a session."""
        kept = select(_C.id).where(_C.database_id == database_id, _C.merged_into.is_(None))
        newest = list(self._db.execute(kept.order_by(_C.id.desc()).limit(keep)).scalars())
        gone = delete(WorkloadRow).where(_C.database_id == database_id, _C.id.not_in(newest))
        self._forget()
        return cast(Any, self._db.execute(gone)).rowcount

    def _values(self, record: Workload) -> dict[str, Any]:
        return {**super()._values(record), "history": pack(record.history)}

    def _as_record(self, row: Any) -> Workload:
        found = super()._as_record(row)
        return replace(found, history=unpack(found.history))

    def add(self, record: Workload) -> Workload:
        """A data set that belongs to no database counts against no quota."""
        ledger, self._ledger = self._ledger, None if record.database_id is None else self._ledger
        try:
            return super().add(record)
        finally:
            self._ledger = ledger


def _unfitted(fitted_with: str) -> ColumnElement[bool]:
    return or_(_C.fitted_with.is_(None), _C.fitted_with != fitted_with)


def _shared_with(database: Database) -> ColumnElement[bool]:
    own = database.past
    if own == "none":
        return false()
    theirs = func.coalesce(DatabaseRow.policy[SHARED].as_string(), DEFAULT_PAST)
    alike = and_(DatabaseRow.label.is_not_distinct_from(database.label), theirs != "none")
    return alike if own == "label" else or_(theirs == "all", alike)


