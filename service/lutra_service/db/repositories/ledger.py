"""The amount that each database adds to the stored data: counted as rows are added, stored with the transaction.

A database has a budget of bytes that rows use up and that recovers steadily, a day's worth in a day.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from lutra_service.db.schema.storable import Written, dumps
from lutra_service.db.schema.tables import DatabaseRow

DAY = timedelta(days=1)
ROW_BYTES = 1000
"""The size of a row without its documents: keys, times, its entries in the indices."""

_TABLE = DatabaseRow.__table__
_HELD = select(_TABLE.c.filled_bytes, _TABLE.c.filled_at).where(_TABLE.c.id == bindparam("database")).with_for_update()
_FILL = (
    update(DatabaseRow)
    .where(_TABLE.c.id == bindparam("database"))
    .values(filled_bytes=bindparam("bytes"), filled_at=bindparam("at", type_=_TABLE.c.filled_at.type))
)


class Ledger:
    """One transaction's additions."""

    def __init__(self, db: Session, now: datetime, daily_bytes: int) -> None:
        self._db = db
        self._now = now
        self._daily = daily_bytes
        self._added: Counter[str] = Counter()
        self._found: dict[str, int] = {}

    def add(self, database_id: str, record: Mapping[str, Any], reserve: int = 0) -> None:
        """Count a row: its documents, and `reserve` for later additions to it."""
        self._added[database_id] += ROW_BYTES + reserve + size(record)

    def seconds_until_room(self, database_id: str) -> int:
        """0 if there is room now."""
        over = self._filled(database_id) + self._added[database_id] - self._daily
        return 0 if over < 0 else math.floor(over / self._daily * DAY.total_seconds()) + 1

    def hold(self, database_id: str, filled_bytes: int, filled_at: datetime | None) -> None:
        """Use the stored quota of a database whose row this transaction holds."""
        self._found[database_id] = self._left(filled_bytes, filled_at)

    def settle(self) -> None:
        """Store the additions."""
        if self._added:
            filled = [
                {"database": id_, "bytes": self._filled(id_) + added, "at": self._now}
                for id_, added in sorted(self._added.items())
            ]
            self._db.connection().execute(_FILL, filled)

    def _filled(self, database_id: str) -> int:
        """Before this transaction; its row is held from now on."""
        if database_id not in self._found:
            row = self._db.execute(_HELD, {"database": database_id}).first()
            self._found[database_id] = 0 if row is None else self._left(row.filled_bytes, row.filled_at)
        return self._found[database_id]

    def _left(self, filled_bytes: int, filled_at: datetime | None) -> int:
        if filled_at is None:
            return 0
        emptied = self._daily * (max(timedelta(0), self._now - filled_at) / DAY)
        return max(0, int(filled_bytes) - int(emptied))


def size(record: Mapping[str, Any]) -> int:
    """The bytes of a record's documents as they are stored."""
    documents = [value for value in record.values() if isinstance(value, dict | list | Written)]
    return sum(len(dumps(document)) for document in documents)
