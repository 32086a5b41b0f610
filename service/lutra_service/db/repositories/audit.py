"""Repository of the audit trail."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from sqlalchemy import CursorResult, delete, select

from lutra_service.db.repositories.repository import Repository
from lutra_service.db.schema.records import AuditEntry
from lutra_service.db.schema.tables import AuditRow

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

    def delete_audit(self, before: datetime) -> int:
        """Delete a batch of the entries from before that moment. Returns their number."""
        c = self.table.c
        old = select(c.id).where(c.at < before).order_by(c.at).limit(BATCH)
        return cast("CursorResult[Any]", self._db.execute(delete(self.table).where(c.id.in_(old)))).rowcount
