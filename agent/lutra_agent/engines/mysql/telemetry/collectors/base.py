"""A collector is a value: some of the server's status variables, or one query that gives one row of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from lutra_agent.engines.common.answers import number_in, reading, text
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.errors import CollectionFailed

MARIADB = "mariadb"
"""In the version of every server of that name, as its greeting says it in lower case."""
Status = Mapping[str, str]
"""SHOW GLOBAL STATUS, read once per sample."""


class Collector(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def view(self) -> str: ...
    def read(self, connection: Connection, status: Status) -> Reading | None:
        """None where this server has nothing of it. Raises CollectionFailed."""
        ...


@dataclass(frozen=True)
class FromStatus:
    """Status variables by our name → the server's. A version that lacks one leaves it out. `texts` are names."""

    name: str
    counters: Mapping[str, str]
    gauges: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def view(self) -> str:
        return f"status of {self.name}"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        counters, gauges = _numbers(self.counters, status), _numbers(self.gauges, status)
        texts = {ours: status[theirs] for ours, theirs in self.texts.items() if theirs in status}
        return Reading(counters, gauges, texts=texts) if counters or gauges or texts else None


IS_ON = "SELECT @@GLOBAL.performance_schema"


def watches(connection: Connection) -> bool:
    """Whether performance_schema is on; off where the server does not say so, which the failures' collector names."""
    try:
        return bool(connection.row(IS_ON)[0])
    except CollectionFailed:
        return False


NOT_ALLOWED = ("[1044]", "[1142]", "[1143]", "[1146]", "[1356]")


def denied(error: CollectionFailed) -> bool:
    """Whether the account has no right to what it asked for."""
    return any(number in str(error) for number in NOT_ALLOWED)


@dataclass(frozen=True)
class FromQuery:
    """One row. Every column is a counter that only grows, except those in `gauges`, and in `texts`, which are names;
    NULL is absent. Where `absent` says what is then not known, the account need not have the right to read it.
    """

    name: str
    view: str
    query: str
    gauges: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    absent: str = ""

    def read(self, connection: Connection, status: Status) -> Reading | None:
        try:
            names, rows = connection.named_rows(self.query)
        except CollectionFailed as error:
            if self.absent and denied(error):
                return None
            raise
        return None if not rows else reading(dict(zip(names, rows[0], strict=True)), self.gauges, texts=self.texts)


@dataclass(frozen=True)
class FromRows:
    """Name → number rows, as a view of counters gives them: those of these names. `texts` are names of objects."""

    name: str
    view: str
    query: str
    counters: frozenset[str]
    gauges: frozenset[str]
    texts: frozenset[str] = frozenset()

    def read(self, connection: Connection, status: Status) -> Reading | None:
        rows = connection.rows(self.query)
        known = {name: v for n, v in rows if (name := text(n)) in self.counters | self.gauges | self.texts}
        return None if not rows else reading(known, self.gauges, texts=self.texts)


def _numbers(names: Mapping[str, str], status: Status) -> dict[str, float]:
    return {ours: n for ours, theirs in names.items() if (n := number_in(status.get(theirs))) is not None}
