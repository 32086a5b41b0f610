"""Rows that are old enough to delete: found and deleted in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from lutra_models.lifecycle import RecommendationState as State
from sqlalchemy import ColumnElement, CursorResult, and_, delete, func, or_, select, update
from sqlalchemy import Table as SqlTable
from sqlalchemy.orm import Session

from lutra_service.db.schema.records import StoredReport
from lutra_service.db.schema.tables import (
    AcceptedRow,
    DatabaseRow,
    DeliveryRow,
    EventRow,
    FindingRow,
    IdempotencyRow,
    JobRow,
    LoadHourRow,
    ModelJobRow,
    RecommendationRow,
    ReportRow,
    RequestRow,
    SessionRow,
    SettingsRow,
    SnapshotRow,
    TokenRow,
    WorkloadRow,
)

BATCH = 500
Group = Mapping[str, Any]
"""Values of GROUPED: windows that have them in common carry the same information."""

_DATABASES = DatabaseRow.__table__.c
_REPORTS = ReportRow.__table__.c
_RECOMMENDATIONS = RecommendationRow.__table__.c
_SESSIONS = SessionRow.__table__.c
_EVENTS = EventRow.__table__.c
_FINDINGS = FindingRow.__table__.c
_ACCEPTED = AcceptedRow.__table__.c
_HOURS = LoadHourRow.__table__.c
_SNAPSHOTS = SnapshotRow.__table__.c
_WORKLOADS = WorkloadRow.__table__.c
_JOBS = JobRow.__table__.c
_DELIVERIES = DeliveryRow.__table__.c
_SETTINGS = cast(SqlTable, SettingsRow.__table__).c
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
_WINDOW = and_(_REPORTS.window_end.is_not(None), _REPORTS.failure.is_(None), _REPORTS.ended_early.is_(None))
_SILENT = and_(_REPORTS.window_end.is_(None), _REPORTS.failure.is_(None))


class RetentionRepository:
    """`before` is a moment: rows that arrived earlier are old."""

    def __init__(self, db: Session) -> None:
        self._db = db

    def databases(self) -> list[str]:
        return list(self._db.execute(select(_DATABASES.id).order_by(_DATABASES.id)).scalars())

    def mergeable(self, database_id: str, before: datetime) -> list[Group]:
        """The database's groups with more than one old window."""
        old = select(*GROUPED).where(_WINDOW, _REPORTS.database_id == database_id, _REPORTS.received_at < before)
        return [dict(row) for row in self._db.execute(old.group_by(*GROUPED).having(func.count() > 1)).mappings()]

    def windows(self, group: Group, before: datetime) -> list[StoredReport]:
        """A batch of the group's old windows, the oldest first."""
        same = [column.is_not_distinct_from(group[column.name]) for column in GROUPED]
        found = select(ReportRow.__table__).where(_WINDOW, _REPORTS.received_at < before, *same)
        rows = self._db.execute(found.order_by(_REPORTS.id).limit(BATCH)).mappings()
        return [StoredReport(**row) for row in rows]

    def delete_reports(self, ids: Sequence[int]) -> int:
        return self._delete(_REPORTS.id, ids)

    def delete_heartbeats(self, database_id: str, before: datetime) -> int:
        """A batch of the old reports that hold neither a window nor a failure."""
        silent = (_SILENT, _REPORTS.database_id == database_id, _REPORTS.received_at < before)
        return self.delete_reports(self._found(select(_REPORTS.id).where(*silent).limit(BATCH)))

    def delete_surplus_reports(self, database_id: str, before: datetime, keep: int) -> int:
        """A batch of the old reports that are not among the newest `keep` old ones."""
        old = select(_REPORTS.id).where(_REPORTS.database_id == database_id, _REPORTS.received_at < before)
        return self.delete_reports(self._surplus(old, _REPORTS.received_at, keep))

    def delete_settings(self, before: datetime) -> int:
        """The settings that are not a database's current ones: an agent that returns to them is asked for them
        again.
        """
        current = select(_DATABASES.settings_hash).where(_DATABASES.id == _SETTINGS.database_id).scalar_subquery()
        gone = and_(_SETTINGS.first_seen_at < before, _SETTINGS.hash.is_distinct_from(current))
        return self._deleted(delete(SettingsRow).where(gone))

    def delete_surplus_events(self, database_id: str, before: datetime, keep: int) -> int:
        old = select(_EVENTS.id).where(_EVENTS.database_id == database_id, _EVENTS.received_at < before)
        return self._delete(_EVENTS.id, self._surplus(old, _EVENTS.id, keep))

    def delete_surplus_findings(self, database_id: str, before: datetime, keep: int) -> int:
        """A batch of those that are gone and are not among the newest `keep` of them."""
        gone = select(_FINDINGS.id).where(_FINDINGS.database_id == database_id, _FINDINGS.gone_at < before)
        return self._delete(_FINDINGS.id, self._surplus(gone, _FINDINGS.id, keep))

    def delete_load_hours(self, before: datetime) -> int:
        """A batch of the hours from before that moment."""
        old = select(_HOURS.id).where(_HOURS.hour < before).order_by(_HOURS.hour).limit(BATCH)
        return self._delete(_HOURS.id, self._found(old))

    def delete_snapshots(self, before: datetime, keep: int) -> int:
        """Old snapshots, except those that a stored request builds on, those that the memory uses, and the last of a
        database's `keep` sessions.
        """
        newest = func.max(_SNAPSHOTS.id).label("id")
        place = func.row_number().over(partition_by=_SNAPSHOTS.database_id, order_by=newest.desc()).label("place")
        lasts = select(newest, place).group_by(_SNAPSHOTS.database_id, _SNAPSHOTS.session_id).subquery()
        last = _SNAPSHOTS.id.in_(select(lasts.c.id).where(lasts.c.place <= keep))
        leant_on = _SNAPSHOTS.id.in_(select(_WORKLOADS.snapshot_id).where(_WORKLOADS.snapshot_id.is_not(None)))
        gone = select(_SNAPSHOTS.id).where(_SNAPSHOTS.created_at < before, ~last, ~leant_on).order_by(_SNAPSHOTS.id)
        old = self._found(gone)
        named = self._named_snapshots() if old else set()
        return self._delete(_SNAPSHOTS.id, [id_ for id_ in old if id_ not in named][:BATCH])

    def delete_surplus_workloads(self, database_id: str, keep: int) -> int:
        """All but a database's newest `keep` that were not merged: the memory uses these."""
        c = _WORKLOADS
        kept = select(c.id).where(c.database_id == database_id, c.merged_into.is_(None)).order_by(c.id.desc())
        newest = self._found(kept.limit(keep))
        gone = select(c.id).where(c.database_id == database_id, c.id.not_in(newest)).limit(BATCH)
        return self._delete(c.id, self._found(gone))

    def delete_requests(self, before: datetime) -> int:
        """A batch of the old requests: after that, these recommendations cannot be recomputed."""
        asked = select(_RECOMMENDATIONS.id).where(
            _RECOMMENDATIONS.state != State.COMPUTING, _RECOMMENDATIONS.created_at < before
        )
        ids = RequestRow.__table__.c.recommendation_id
        return self._delete(ids, self._found(select(ids).where(ids.in_(asked)).limit(BATCH)))

    def delete_surplus_recommendations(self, database_id: str, before: datetime, keep: int) -> int:
        """A batch of those that ended and are not among the newest `keep` of them, with their measurements.

        Rows of an open session are kept.
        """
        c = _RECOMMENDATIONS
        closed = or_(c.session_id.is_(None), c.session_id.in_(select(_SESSIONS.id).where(_SESSIONS.ended_at < before)))
        ended = select(c.id).where(c.database_id == database_id, c.ended_at < before, closed)
        ids = self._surplus(ended, c.id, keep)
        self._delete(_REPORTS.recommendation_id, ids)
        self._unname(_EVENTS.recommendation_id, ids)
        for row in (RequestRow, ModelJobRow):
            self._delete(row.__table__.c.recommendation_id, ids)
        return self._delete(c.id, ids)

    def delete_surplus_sessions(self, database_id: str, before: datetime, keep: int) -> int:
        """A batch of ended sessions without recommendations, except the newest `keep`."""
        c = _SESSIONS
        used = select(_RECOMMENDATIONS.id).where(_RECOMMENDATIONS.session_id == c.id).exists()
        ended = select(c.id).where(c.database_id == database_id, c.ended_at < before, ~used)
        ids = self._surplus(ended, c.id, keep)
        for reference in (_REPORTS.session_id, _EVENTS.session_id, _SNAPSHOTS.session_id):
            self._unname(reference, ids)
        self._delete(_WORKLOADS.session_id, ids)
        return self._delete(c.id, ids)

    def delete_reports_of(self, database_id: str) -> int:
        """A batch of a database's reports."""
        return self.delete_reports(
            self._found(select(_REPORTS.id).where(_REPORTS.database_id == database_id).limit(BATCH))
        )

    def delete_database(self, database_id: str) -> int:
        """Delete everything that belongs to it. Returns the number of rows. Models that other databases' stored
        requests use only lose its name; they are deleted with those requests.
        """
        asked = select(_RECOMMENDATIONS.id).where(_RECOMMENDATIONS.database_id == database_id)
        requests, jobs = (row.__table__.c.recommendation_id for row in (RequestRow, ModelJobRow))
        tokens, answers = (row.__table__.c for row in (TokenRow, IdempotencyRow))
        rows = sum(self._deleted(delete(cast(Any, key).table).where(key.in_(asked))) for key in (requests, jobs))
        named = self._named_snapshots()
        mine = self._found(select(_SNAPSHOTS.id).where(_SNAPSHOTS.database_id == database_id))
        kept = [id_ for id_ in mine if id_ in named]
        nameless = update(SnapshotRow).where(_SNAPSHOTS.id.in_(kept)).values(database_id=None, session_id=None)
        self._db.execute(nameless)
        taught = select(_WORKLOADS.snapshot_id).where(_WORKLOADS.database_id == database_id)
        trained = [id_ for id_ in self._found(taught) if id_ is not None and id_ not in named]
        rows += self._delete(_SNAPSHOTS.id, [id_ for id_ in mine if id_ not in named] + trained)
        of_tokens = select(tokens.id).where(tokens.database_id == database_id)
        rows += self._deleted(delete(IdempotencyRow).where(answers.token_id.in_(of_tokens)))
        told = (_JOBS, _REPORTS, _EVENTS, _FINDINGS, _ACCEPTED, _HOURS, _DELIVERIES)
        owned = (*told, _WORKLOADS, _RECOMMENDATIONS, _SESSIONS, _SETTINGS, tokens)
        for owner in (c.database_id for c in owned):
            rows += self._deleted(delete(cast(Any, owner).table).where(owner == database_id))
        return rows + self._deleted(delete(DatabaseRow).where(_DATABASES.id == database_id))

    def delete_deliveries(self, before: datetime) -> int:
        """A batch of those that ended before that moment."""
        ended = select(_DELIVERIES.id).where(_DELIVERIES.ended_at < before).limit(BATCH)
        return self._delete(_DELIVERIES.id, self._found(ended))

    def delete_answers(self, before: datetime) -> int:
        return self._deleted(delete(IdempotencyRow).where(IdempotencyRow.__table__.c.created_at < before))

    def _surplus(self, found: Any, newest: ColumnElement[Any], keep: int) -> list[Any]:
        return self._found(found.order_by(newest.desc()).offset(keep).limit(BATCH))

    def _named_snapshots(self) -> set[str]:
        past = self._db.execute(select(RequestRow.__table__.c.payload["past"])).scalars()
        return {id_ for ids in past for id_ in ids or ()}

    def _found(self, statement: Any) -> list[Any]:
        return list(self._db.execute(statement).scalars())

    def _unname(self, reference: ColumnElement[Any], ids: Sequence[str]) -> None:
        table = cast(Any, reference).table
        self._db.execute(update(table).where(reference.in_(ids)).values({reference: None}))

    def _delete(self, key: ColumnElement[Any], ids: Sequence[Any]) -> int:
        return self._deleted(delete(cast(Any, key).table).where(key.in_(ids))) if ids else 0

    def _deleted(self, statement: Any) -> int:
        return cast("CursorResult[Any]", self._db.execute(statement)).rowcount
