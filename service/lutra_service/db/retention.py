"""What is old enough to go: found, and deleted, a batch at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from sqlalchemy import CursorResult, and_, delete, func, or_, select
from sqlalchemy.orm import Session

from lutra_service.db.records import StoredReport
from lutra_service.db.tables import IdempotencyRow, RecommendationRow, ReportRow, RequestRow, SnapshotRow, Table

BATCH = 500
Group = Mapping[str, Any]
"""Values of GROUPED: the windows that have them in common say one thing, over and over."""

_REPORTS = ReportRow.__table__.c
GROUPED = (
    _REPORTS.database_id,
    _REPORTS.session_id,
    _REPORTS.recommendation_id,
    _REPORTS.agent,
    _REPORTS.epoch,
    _REPORTS.settings_hash,
    _REPORTS.p99_source,
    _REPORTS.p99_of,
)
_WINDOW = and_(_REPORTS.window_end.is_not(None), _REPORTS.failure.is_(None))


class Old:
    """`before` is a moment: what came to the service earlier is old."""

    def __init__(self, db: Session) -> None:
        self._db = db

    def crowded(self, before: datetime) -> list[Group]:
        """Groups with more than one old window."""
        old = select(*GROUPED).where(_WINDOW, _REPORTS.received_at < before)
        return [dict(row) for row in self._db.execute(old.group_by(*GROUPED).having(func.count() > 1)).mappings()]

    def windows(self, group: Group, before: datetime) -> list[StoredReport]:
        """A batch of the group's old windows, the oldest first."""
        same = [column.is_not_distinct_from(group[column.name]) for column in GROUPED]
        found = select(ReportRow.__table__).where(_WINDOW, _REPORTS.received_at < before, *same)
        rows = self._db.execute(found.order_by(_REPORTS.id).limit(BATCH)).mappings()
        return [StoredReport(**row) for row in rows]

    def delete_reports(self, ids: Sequence[int]) -> int:
        return self._delete(ReportRow, _REPORTS.id.in_(ids))

    def delete_heartbeats(self, before: datetime) -> int:
        """A batch of the old reports that hold neither a window nor a failure."""
        silent = and_(_REPORTS.window_end.is_(None), _REPORTS.failure.is_(None), _REPORTS.received_at < before)
        return self._delete(ReportRow, _REPORTS.id.in_(select(_REPORTS.id).where(silent).limit(BATCH)))

    def delete_snapshots(self, before: datetime) -> int:
        """Old snapshots, but for each session's and each database's last and those that a stored request builds on."""
        c = SnapshotRow.__table__.c
        past = self._db.execute(select(RequestRow.payload["past"])).scalars()
        named = {id_ for ids in past for id_ in ids or ()}
        last = or_(
            c.id.in_(select(func.max(c.id)).group_by(c.session_id)),
            c.id.in_(select(func.max(c.id)).group_by(c.database_id)),
        )
        old = self._db.execute(select(c.id).where(c.created_at < before, ~last).order_by(c.id)).scalars()
        return self._delete(SnapshotRow, c.id.in_([id_ for id_ in old if id_ not in named][:BATCH]))

    def delete_requests(self, before: datetime) -> int:
        """A batch of the old requests that were never answered: there is nothing in them to compute again."""
        c = RecommendationRow.__table__.c
        unanswered = select(c.id).where(c.state != "computing", c.proposed_at.is_(None), c.created_at < before)
        ids = RequestRow.__table__.c.recommendation_id
        return self._delete(RequestRow, ids.in_(select(ids).where(ids.in_(unanswered)).limit(BATCH)))

    def delete_answers(self, before: datetime) -> int:
        return self._delete(IdempotencyRow, IdempotencyRow.created_at < before)

    def _delete(self, table: type[Table], condition: Any) -> int:
        return cast("CursorResult[Any]", self._db.execute(delete(table).where(condition))).rowcount
