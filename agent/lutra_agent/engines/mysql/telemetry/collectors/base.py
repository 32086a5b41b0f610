"""A collector is a value: some of the server's status variables, or one query that gives one row of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from lutra_agent.engines.common.answers import number_in, reading, text
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.errors import CollectionFailed

MARIADB = "mariadb"
"""Every MariaDB's version contains this word, in lower case."""
Status = Mapping[str, str]
"""SHOW GLOBAL STATUS, read once per sample."""


class Collector(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def view(self) -> str: ...
    def read(self, connection: Connection, status: Status) -> Reading | None:
        """None if this server has none of it. Raises CollectionFailed."""
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
    """Whether performance_schema is on; off if the server does not report it, which the failures' collector names."""
    try:
        return bool(connection.row(IS_ON)[0])
    except CollectionFailed:
        return False


NOT_ALLOWED = ("[1044]", "[1142]", "[1143]", "[1146]", "[1356]")


def denied(error: CollectionFailed) -> bool:
    """Whether the account lacks the right to the requested data."""
    return any(number in str(error) for number in NOT_ALLOWED)


@dataclass(frozen=True)
class FromQuery:
    """One row. Every column is a counter that only grows, except those in `gauges`, and in `texts`, which are names;
    NULL is absent. If `absent` names the figures that are then unknown, the account does not need the right to read it.
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


EVERY_S, AGAIN_S = 600.0, 3600.0
LONGEST_S = 0.1
"""For queries over all tables: the interval, the pause after a query that took too long, and the time limit."""


def bounded(select: str, *, mariadb: bool) -> str:
    """The statement, which the server ends by itself when it takes too long."""
    if mariadb:
        return f"SET STATEMENT max_statement_time = {LONGEST_S} FOR SELECT {select}"
    return f"SELECT /*+ MAX_EXECUTION_TIME({1000 * LONGEST_S:.0f}) */ {select}"


@dataclass
class _Look:
    """What the last one saw, and from which moment on the server is asked again, in seconds since its start."""

    reading: Reading | None
    at_s: float
    next_s: float


@dataclass(frozen=True)
class Seldom:
    """One row of gauges; none if the account may not see the tables. `in_mariadb` and `in_mysql` are the expressions
    after SELECT, and `texts` are names.
    """

    name: str
    view: str
    in_mariadb: str
    in_mysql: str
    texts: frozenset[str] = frozenset()
    _looks: WeakKeyDictionary[Connection, _Look] = field(default_factory=WeakKeyDictionary, compare=False)

    def read(self, connection: Connection, status: Status) -> Reading | None:
        now_s = number_in(status.get("Uptime")) or 0.0
        look = self._looks.get(connection)
        if look is None or not look.at_s <= now_s < look.next_s:
            found, in_time = self._asked(connection)
            result = reading(found, frozenset(found), texts=self.texts)
            next_s = now_s + (EVERY_S if in_time else AGAIN_S)
            look = self._looks[connection] = _Look(result if result.gauges or result.texts else None, now_s, next_s)
        return look.reading

    def _asked(self, connection: Connection) -> tuple[Mapping[str, Any], bool]:
        """And whether that was quick enough to be asked again."""
        mariadb = MARIADB in connection.server_version.lower()
        try:
            names, rows = connection.named_rows(bounded(self.in_mariadb if mariadb else self.in_mysql, mariadb=mariadb))
        except CollectionFailed:
            return {}, False
        took_s = connection.durations_s[-1] if connection.durations_s else 0.0
        return dict(zip(names, rows[0], strict=True)) if rows else {}, took_s <= LONGEST_S


def _numbers(names: Mapping[str, str], status: Status) -> dict[str, float]:
    return {ours: n for ours, theirs in names.items() if (n := number_in(status.get(theirs))) is not None}
