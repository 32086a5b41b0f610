"""Repository of the hourly load of databases."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select

from lutra_service.db.repositories.repository import Repository
from lutra_service.db.schema.records import LoadHour
from lutra_service.db.schema.tables import LoadHourRow


class LoadHours(Repository[LoadHour]):
    row = LoadHourRow
    record = LoadHour
    noun = "hour of load"

    def newest(self, database_id: str) -> int:
        """The number of the newest report that an hour of this database contains; 0 before the first."""
        c = self.table.c
        asked = select(func.coalesce(func.max(c.newest), 0)).where(c.database_id == database_id)
        return int(self._db.execute(asked).scalar_one())

    def of(self, database_id: str, hours: Sequence[datetime]) -> list[LoadHour]:
        """The rows of these hours of a database."""
        c = self.table.c
        return self._many(select(self.table).where(c.database_id == database_id, c.hour.in_(hours)))

    def between(self, since: datetime, until: datetime, only: str | None = None) -> list[LoadHour]:
        """Of all databases, or of the one: the hours that begin in the span, in order."""
        c = self.table.c
        where = [c.hour >= since, c.hour < until, *([] if only is None else [c.database_id == only])]
        found = self._db.execute(select(self.table).where(*where).order_by(c.hour, c.newest))
        return [LoadHour(*row) for row in found]
