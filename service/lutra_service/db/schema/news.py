"""The findings and changes of one transaction: facts with further consequences, and the ids of the changed rows."""

from __future__ import annotations

from datetime import datetime
from typing import Any


class News:
    """The news of one transaction, at the moment `now`."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.facts: list[Any] = []
        self.changed: set[str] = set()

    def note(self, *ids: object) -> None:
        """Record that these rows changed."""
        self.changed.update(i for i in ids if isinstance(i, str))

    def note_new(self, record: object) -> None:
        """Record that this row is new, which changes its parent."""
        self.note(*(getattr(record, name, None) for name in ("id", "database_id", "session_id")))
