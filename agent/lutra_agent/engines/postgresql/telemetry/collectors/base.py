"""A collector is a value: one statistics view, one query per range of versions, one row of numbers and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Collector:
    """`queries` maps the first major version that a query works on to the query, or to None if the view is gone.

    Every column is a counter that only grows, except those in `gauges` (None: all are gauges) and in `texts`, which are
    names of objects; a column named `epoch` changes with a reset. `right` is a condition in SQL; without it the account
    may not read the columns, and does not try to. `grant` is the missing grant, to be pasted with the account's name.
    Values that change seldom are read every `every_s`, and kept until then.
    """

    name: str
    view: str
    queries: Mapping[int, str | None]
    gauges: frozenset[str] | None = frozenset()
    texts: frozenset[str] = frozenset()
    right: str = ""
    grant: str = ""
    every_s: float = 0.0

    def query(self, major: int) -> str | None:
        """The query for this version; None if the server has no such view."""
        fitting = [first for first in self.queries if first <= major]
        return self.queries[max(fitting)] if fitting else None
