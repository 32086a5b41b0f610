"""What the server has to look through all its tables for: asked seldom, and for a short time.

It is asked every ten minutes, for a tenth of a second at most; where that is too little an hour later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from lutra_agent.engines.common.answers import number_in, reading
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import MARIADB, Status
from lutra_agent.errors import CollectionFailed

EVERY_S, AGAIN_S = 600.0, 3600.0
LONGEST_S = 0.1


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
    """One row of gauges; of none where the account may not see the tables. `in_mariadb` and `in_mysql` are what follows
    SELECT.
    """

    name: str
    view: str
    in_mariadb: str
    in_mysql: str
    _looks: WeakKeyDictionary[Connection, _Look] = field(default_factory=WeakKeyDictionary, compare=False)

    def read(self, connection: Connection, status: Status) -> Reading | None:
        now_s = number_in(status.get("Uptime")) or 0.0
        look = self._looks.get(connection)
        if look is None or not look.at_s <= now_s < look.next_s:
            found, in_time = self._asked(connection)
            told = reading(found, frozenset(found))
            next_s = now_s + (EVERY_S if in_time else AGAIN_S)
            look = self._looks[connection] = _Look(told if told.gauges else None, now_s, next_s)
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
