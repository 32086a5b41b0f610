"""Whose turn it is: databases take turns, however many computations of one of them wait."""

from __future__ import annotations

from collections.abc import Sequence

from lutra_service.db.schema.records import Waiting

REMEMBERED = 10_000
"""Databases. One whose last turn is forgotten comes first, as if it had never had one."""


class Turns:
    """Remembers the order in which databases had their turns."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._count = 0

    def next(self, free: int, waiting: Sequence[Waiting]) -> list[Waiting]:
        """Up to `free` of those: first the databases whose last turn is the longest ago.

        `waiting` holds each database once, in the order in which the computations were asked for.
        """
        return sorted(waiting, key=lambda w: self._last.get(w.of, 0))[:free]

    def took(self, database_id: str) -> None:
        self._count += 1
        self._last.pop(database_id, None)
        self._last[database_id] = self._count
        while len(self._last) > REMEMBERED:
            del self._last[next(iter(self._last))]
