"""Repository of the audit trail."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from lutra_models.lifecycle import RecommendationKind
from sqlalchemy import CursorResult, delete, exists, func, select

from lutra_service.db.repositories.repository import Repository
from lutra_service.db.schema.records import AuditEntry
from lutra_service.db.schema.tables import AuditRow, RecommendationRow

BATCH = 500


class Audit(Repository[AuditEntry]):
    row = AuditRow
    record = AuditEntry
    noun = "audit entry"

    def listed(
        self,
        limit: int,
        after: str | None,
        database_id: str | None = None,
        action: str | None = None,
        since: datetime | None = None,
    ) -> list[AuditEntry]:
        """Newest first: those from after `since`."""
        c = self.table.c
        wanted = ((c.database_id, database_id), (c.action, action))
        where = [column == value for column, value in wanted if value is not None]
        where += [] if since is None else [c.at > since]
        return self.page(*where, limit=limit, after=after, newest_first=True)

    def within(
        self, since: datetime, actions: Sequence[str], limit: int, only: str | None = None
    ) -> tuple[list[AuditEntry], dict[str, int]]:
        """The newest `limit` of these actions since then, of databases or of the one, and the number of each action. A
        rollback that was carried out is not among them: what it undid is.
        """
        c, r = self.table.c, RecommendationRow.__table__.c
        carried_out = exists().where(r.id == c.target, r.kind == RecommendationKind.ROLLBACK)
        undid = c.action.in_(("recommendation.apply", "recommendation.confirm")) & carried_out
        where = [c.at > since, c.action.in_(actions), c.database_id.is_not(None), ~undid]
        where += [] if only is None else [c.database_id == only]
        counted = self._db.execute(select(c.action, func.count()).where(*where).group_by(c.action))
        newest = self._many(select(self.table).where(*where).order_by(c.at.desc(), c.id.desc()).limit(limit))
        return newest, {str(action): int(count) for action, count in counted}

    def delete_audit(self, before: datetime) -> int:
        """Delete a batch of the entries from before that moment. Returns their number."""
        c = self.table.c
        old = select(c.id).where(c.at < before).order_by(c.at).limit(BATCH)
        return cast("CursorResult[Any]", self._db.execute(delete(self.table).where(c.id.in_(old)))).rowcount
