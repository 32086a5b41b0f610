"""The repository of past workloads: the memory's data, and their visibility."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lutra_models.lifecycle import RecommendationState as State
from sqlalchemy import ColumnElement, and_, false, func, null, or_, select

from lutra_service.common.documents import Document
from lutra_service.db.repositories.repository import Repository, pack, unpack
from lutra_service.db.schema.policy import DEFAULT_PAST, SHARED
from lutra_service.db.schema.records import Database, Workload
from lutra_service.db.schema.tables import DatabaseRow, JobRow, RecommendationRow, SnapshotRow, WorkloadRow

_C = WorkloadRow.__table__.c
_SNAPSHOTS = SnapshotRow.__table__.c
LOOKED_AT = (
    *(_C.id, _C.engine, _C.metric, _C.database_id, _C.session_id, _C.observations),
    *(_C.snapshot_id, _C.merged_into, _C.taught.is_not(None).label("is_taught")),
)
_WITHOUT_HISTORY = [null().label(c.name) if c.name == "history" else c for c in _C]
"""A history is most of a workload's stored data."""


@dataclass(frozen=True)
class Remembered:
    """The memory's view of a workload: without its history."""

    id: str
    engine: str
    metric: str
    database_id: str | None
    session_id: str | None
    observations: int
    snapshot_id: str | None
    merged_into: str | None
    is_taught: bool
    taught: Document | None = None
    """None as well if it was not requested."""

    @property
    def teaches(self) -> bool:
        """Whether others may learn from it at all."""
        return self.is_taught and self.snapshot_id is not None and self.merged_into is None


class Workloads(Repository[Workload]):
    row = WorkloadRow
    record = Workload
    noun = "workload"

    def id_of_session(self, session_id: str) -> str | None:
        return self._db.execute(select(_C.id).where(_C.session_id == session_id)).scalar()

    def history_of_session(self, session_id: str) -> Document | None:
        """The history from which its lessons were fitted; None if there are none yet."""
        found = self._db.execute(select(_C.history).where(_C.session_id == session_id)).scalar()
        return None if found is None else unpack(found)

    def imported(self, engine: str, *, key: str | None = None, name: str | None = None) -> str | None:
        """The data set of this content, or of this name, which belongs to no database."""
        same = _C.name == name if key is None else _C.key == key
        asked = select(_C.id).where(same, _C.engine == engine, _C.database_id.is_(None))
        return self._db.execute(asked).scalar()

    def data_sets(self, limit: int) -> list[str]:
        """Ids of those that belong to no database, newest first."""
        asked = select(_C.id).where(_C.database_id.is_(None))
        return list(self._db.execute(asked.order_by(_C.id.desc()).limit(limit)).scalars())

    def siblings(self, database_id: str) -> list[Remembered]:
        """The unmerged workloads of a database, the oldest first."""
        of = _C.database_id == database_id, _C.merged_into.is_(None)
        return self._looked(select(*LOOKED_AT, _C.taught).where(*of).order_by(_C.id))

    def owners(self, database: Database, among: Collection[str] | None = None) -> list[str]:
        """The other databases that share with `database` what was learned: the stricter of the two policies counts."""
        c = DatabaseRow.__table__.c
        others = select(c.id).where(c.engine == database.engine, c.id != database.id, _shared_with(database))
        asked = others if among is None else others.where(c.id.in_(among))
        return list(self._db.execute(asked).scalars())

    def measured(self, session_ids: Collection[str], least: int) -> set[str]:
        """The workloads of sessions with at least that many confirmed readings."""
        c = RecommendationRow.__table__.c
        # Counted by a filter: given the state as a condition, SQLite reads every session's confirmed recommendations.
        read = func.count().filter(c.state == State.CONFIRMED, c.measured.is_not(None))
        enough = select(c.session_id).where(c.session_id.in_(session_ids)).group_by(c.session_id).having(read >= least)
        return set(self._db.execute(enough).scalars())

    def extent(self) -> tuple[int, datetime | None]:
        """Their number, and the time of the last change: if both are the same as before, nothing changed."""
        row = self._db.execute(select(func.count(), func.max(_C.changed_at))).one()
        return int(row[0]), row[1]

    def changes(self, since: datetime | None) -> list[tuple[str, datetime]]:
        """Ids of those that changed since a moment, each with its time; all without a moment."""
        asked = select(_C.id, _C.changed_at)
        return [(r[0], r[1]) for r in self._db.execute(asked if since is None else asked.where(_C.changed_at >= since))]

    def look(self, ids: Sequence[str]) -> list[Remembered]:
        """The workloads without their lessons."""
        return self._looked(select(*LOOKED_AT).where(_C.id.in_(ids)))

    def read(self, ids: Sequence[str]) -> list[Remembered]:
        return self._looked(select(*LOOKED_AT, _C.taught).where(_C.id.in_(ids)))

    def listed(
        self, limit: int, after: str | None, *, engine: str | None = None, database_id: str | None = None
    ) -> list[Workload]:
        """Without their histories, newest first."""
        wanted = {_C.engine: engine, _C.database_id: database_id}
        where = [column == value for column, value in wanted.items() if value is not None]
        asked = select(*_WITHOUT_HISTORY).where(*where).order_by(_C.id.desc()).limit(limit)
        return self._many(asked if after is None else asked.where(_C.id < after))

    def some(self, ids: Collection[str]) -> dict[str, Workload]:
        """Without their histories, by id; those that are still there and were not merged."""
        asked = select(*_WITHOUT_HISTORY).where(_C.id.in_(ids), _C.merged_into.is_(None))
        return {found.id: found for found in self._many(asked)}

    def learn(self, id_: str, now: datetime, only: str | None = None, **values: Any) -> bool:
        """Change a workload's data, and so every index of it. Returns whether it exists.

        With `only`, this is done only if its content still has that key.
        """
        packed = {"history": pack(values["history"])} if "history" in values else {}
        anew = {"merged_into": None, "error": None}
        conditions = [] if only is None else [_C.key == only]
        return self.change(id_, *conditions, **{**anew, **values, **packed, "changed_at": now})

    def owner(self, id_: str) -> str | None:
        """The workload's database; None for a data set that belongs to none."""
        return self._db.execute(select(_C.database_id).where(_C.id == id_)).scalar()

    def unfitted(self, fitted_with: str) -> list[str]:
        """Ids of those that are to be fitted and have no job yet, the oldest first."""
        unfitted = (
            or_(_C.fitted_with.is_(None), _C.fitted_with != fitted_with),
            _C.id.not_in(select(JobRow.__table__.c.id)),
        )
        return list(self._db.execute(select(_C.id).where(*unfitted).order_by(_C.id)).scalars())

    def _looked(self, asked: Any) -> list[Remembered]:
        return [
            Remembered(**{**row, "is_taught": bool(row["is_taught"])}) for row in self._db.execute(asked).mappings()
        ]

    def _values(self, record: Workload) -> dict[str, Any]:
        return {**super()._values(record), "history": pack(record.history)}

    def _as_record(self, row: Any) -> Workload:
        return super()._as_record({**row, "history": unpack(row["history"]) if row["history"] else {}})


def _shared_with(database: Database) -> ColumnElement[bool]:
    own = database.past
    if own == "none":
        return false()
    c = DatabaseRow.__table__.c
    theirs = func.coalesce(c.policy[SHARED].as_string(), DEFAULT_PAST)
    alike = and_(c.label.is_not_distinct_from(database.label), theirs != "none")
    return alike if own == "label" else or_(theirs == "all", alike)
