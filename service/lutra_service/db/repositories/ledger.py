"""How much each database adds to what is stored: counted as rows are added, written down with the transaction.

A database has a store of bytes that runs full as rows come and empties steadily, a day's worth in a day.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from lutra_service.db.schema.tables import DatabaseRow

DAY = timedelta(days=1)
ROW_BYTES = 1000
"""What a row takes besides its documents: keys, times, its entries in the indices."""

_TABLE = DatabaseRow.__table__


class Ledger:
    """One transaction's additions."""

    def __init__(self, db: Session, now: datetime, daily_bytes: int) -> None:
        self._db = db
        self._now = now
        self._daily = daily_bytes
        self._added: Counter[str] = Counter()
        self._found: dict[str, int] = {}

    def add(self, database_id: str, record: Mapping[str, Any], reserve: int = 0) -> None:
        """Count a row: its documents, and `reserve` for what is written into it later."""
        self._added[database_id] += ROW_BYTES + reserve + size(record)

    def seconds_until_room(self, database_id: str) -> int:
        """0 where there is room now."""
        over = self._filled(database_id) + self._added[database_id] - self._daily
        return 0 if over < 0 else math.floor(over / self._daily * DAY.total_seconds()) + 1

    def settle(self) -> None:
        """Write down what was added."""
        for database_id, added in sorted(self._added.items()):
            values = {"filled_bytes": self._filled(database_id) + added, "filled_at": self._now}
            self._db.execute(update(DatabaseRow).where(_TABLE.c.id == database_id).values(values))

    def _filled(self, database_id: str) -> int:
        """Before this transaction; its row is held from now on."""
        if database_id not in self._found:
            self._found[database_id] = self._read(database_id)
        return self._found[database_id]

    def _read(self, database_id: str) -> int:
        held = select(_TABLE.c.filled_bytes, _TABLE.c.filled_at).where(_TABLE.c.id == database_id).with_for_update()
        row = self._db.execute(held).first()
        if row is None or row.filled_at is None:
            return 0
        emptied = self._daily * (max(timedelta(0), self._now - row.filled_at) / DAY)
        return max(0, int(row.filled_bytes) - int(emptied))


def size(record: Mapping[str, Any]) -> int:
    """The bytes of a record's documents as they are stored."""
    documents = [value for value in record.values() if isinstance(value, dict | list)]
    return sum(len(json.dumps(document)) for document in documents)
