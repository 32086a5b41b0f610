"""Repository of reports: their windows and failures, whole and unread."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from lutra_models.metrics import P99, QPS, TPS
from sqlalchemy import ColumnElement, bindparam, func, literal_column, select, text

from lutra_service.common.documents import Document
from lutra_service.db.repositories.repository import Repository
from lutra_service.db.schema.records import Reading, StoredReport
from lutra_service.db.schema.tables import ALIKE, LEARNED, DatabaseRow, ReportRow

_C = ReportRow.__table__.c
_OF_AGENT = (
    _C.database_id == bindparam("database"),
    _C.agent == bindparam("agent"),
    _C.epoch == bindparam("epoch"),
)
_NEWEST = select(func.max(_C.sequence)).where(*_OF_AGENT)
_ITSELF = select(_C.id).where(*_OF_AGENT, _C.sequence == bindparam("sequence")).limit(1)
_SENT_AT = select(_C.sent_at).where(*_OF_AGENT, _C.sequence == bindparam("sequence")).limit(1)
# The number is written out, so that a query that was prepared can use the index of those alone.
_MERGED = (
    select(_C.id).where(*_OF_AGENT, _C.windows > literal_column("1"), _C.sequence > bindparam("sequence")).limit(1)
)


class Reports(Repository[StoredReport]):
    row = ReportRow
    record = StoredReport
    noun = "report"

    def _values(self, record: StoredReport) -> dict[str, Any]:
        return {k: v for k, v in record.__dict__.items() if k != "id"}

    def is_stored(self, database_id: str, agent: str, epoch: str, sequence: int) -> bool:
        """The report itself, or the later one into which it was merged: an agent sends them in order."""
        numbered = {"database": database_id, "agent": agent, "epoch": epoch, "sequence": sequence}
        return any(self._db.execute(asked, numbered).first() is not None for asked in (_ITSELF, _MERGED))

    def sent_at(self, database_id: str, agent: str, epoch: str, sequence: int) -> datetime | None:
        """None for one that is not stored by itself."""
        numbered = {"database": database_id, "agent": agent, "epoch": epoch, "sequence": sequence}
        return self._db.execute(_SENT_AT, numbered).scalar()

    def replace(self, id_: int | None, **values: Any) -> None:
        self._update(self.table.c.id == id_, **values)

    def last_word(self, database_id: str, agent: str, epoch: str) -> datetime | None:
        """The time of this agent's newest report."""
        c = self.table.c
        of_agent = (c.database_id == database_id, c.agent == agent, c.epoch == epoch)
        newest = select(c.received_at).where(*of_agent).order_by(c.sequence.desc()).limit(1)
        return self._db.execute(newest).scalar()

    def newest_sequence(self, database_id: str, agent: str, epoch: str) -> int | None:
        return self._db.execute(_NEWEST, {"database": database_id, "agent": agent, "epoch": epoch}).scalar()

    def of_session(
        self, session_id: str, newest: int, since: datetime | None = None, trials_only: bool = False
    ) -> list[StoredReport]:
        """The reports from which a session learns, in the order in which they arrived.

        Only the newest of equal rows (settings, recommendation and source of p99): a session may stay open for months.
        """
        c = self.table.c
        where: list[ColumnElement[bool]] = [c.session_id == session_id, text(LEARNED)]  # type: ignore[list-item]
        if since is not None:
            where.append(c.received_at >= since)
        if trials_only:
            where.append(c.recommendation_id.is_not(None))
        place = func.row_number().over(partition_by=[c[name] for name in ALIKE], order_by=c.id.desc()).label("place")
        ranked = select(c.id, place).where(*where).subquery()
        kept = select(ranked.c.id).where(ranked.c.place <= newest)
        return self._many(select(self.table).where(c.id.in_(kept)).order_by(c.id))

    def windows(
        self,
        database_id: str,
        limit: int,
        after: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[StoredReport]:
        """Newest first, from below the row `after`: those that ended after `since` and began before `until`."""
        c = self.table.c
        statement = select(self.table).where(c.database_id == database_id, c.window_end.is_not(None))
        if since is not None:
            statement = statement.where(c.window_end > since)
        if until is not None:
            statement = statement.where(c.window_start < until)
        if after is not None:
            statement = statement.where(c.id < after)
        return self._many(statement.order_by(c.id.desc()).limit(limit))

    def moments(self, database_id: str, since: datetime, until: datetime) -> list[tuple[int, datetime]]:
        """The ids and starts of the windows between both, oldest first; without failures and merged windows."""
        c = self.table.c
        whole = (c.window_start >= since, c.window_end > since, c.window_end <= until, c.windows == 1)
        asked = select(c.id, c.window_start).where(c.database_id == database_id, c.failure.is_(None), *whole)
        return [(id_, start) for id_, start in self._db.execute(asked.order_by(c.window_start))]

    def of_ids(self, ids: Sequence[int]) -> list[StoredReport]:
        """By their start, oldest first."""
        c = self.table.c
        return self._many(select(self.table).where(c.id.in_(ids)).order_by(c.window_start))

    def latest_metrics(self, database_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The metrics of the newest window of each database that has one, by id."""
        c, d = self.table.c, DatabaseRow.__table__.c
        newest = select(func.max(c.id)).where(c.database_id == d.id, c.window_end.is_not(None)).scalar_subquery()
        wanted = select(newest).where(d.id.in_(database_ids))
        return dict(self._db.execute(select(c.database_id, c.metrics).where(c.id.in_(wanted))).tuples().all())

    def readings(self, database_id: str, after: int, limit: int) -> list[Reading]:
        """The windows that were measured and stored after the row `after`, in that order: only their load and p99."""
        c = self.table.c
        metrics = (c.metrics[m.name].as_float().label(m.name) for m in (QPS, TPS, P99))
        plain = (c.id, c.window_end, c.windows, c.p99_source, c.p99_of)
        measured = (c.window_end.is_not(None), c.failure.is_(None), c.ended_early.is_(None))
        asked = select(*plain, *metrics).where(c.database_id == database_id, c.id > after, *measured)
        return [Reading(**row) for row in self._db.execute(asked.order_by(c.id).limit(limit)).mappings()]

    def of_recommendation(self, recommendation_id: str, newest: int = 100) -> list[StoredReport]:
        """The newest, in the order in which they arrived."""
        c = self.table.c
        return self.page(c.recommendation_id == recommendation_id, limit=newest, newest_first=True)[::-1]

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
