"""Tables without a primary key, which change once in a while: they are counted again at every sixtieth sample."""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from lutra_agent.engines.common.answers import number_in, reading
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import MARIADB, Status, watches

EVERY = 60
DICTIONARY = """SELECT COUNT(*) AS without_key FROM information_schema.INNODB_SYS_INDEXES
WHERE NAME = 'GEN_CLUST_INDEX'"""
USED = """SELECT COALESCE(SUM(s.bare AND s.used), 0) AS without_key
FROM (SELECT COALESCE(SUM(INDEX_NAME = 'PRIMARY'), 0) = 0 AS bare, SUM(COUNT_STAR) > 0 AS used
FROM performance_schema.table_io_waits_summary_by_index_usage
WHERE OBJECT_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')
GROUP BY OBJECT_SCHEMA, OBJECT_NAME) s"""
"""Tables that have been used since the server started, and that have no index of that name."""

MOST_TABLES = 1000
"""Of more that were opened since the start the question takes too long."""


@dataclass
class _Last:
    reading: Reading | None
    samples: int = 0


@dataclass(frozen=True)
class Keys:
    name: str = "table_keys"
    view: str = "tables without a primary key"
    _last: WeakKeyDictionary[Connection, _Last] = field(default_factory=WeakKeyDictionary, compare=False)

    def read(self, connection: Connection, status: Status) -> Reading | None:
        last = self._last.get(connection)
        if last is None or last.samples >= EVERY:
            last = self._last[connection] = _Last(_counted(connection, status))
        last.samples += 1
        return last.reading


def _counted(connection: Connection, status: Status) -> Reading | None:
    if MARIADB in connection.server_version.lower():
        query = DICTIONARY
    elif _opened(status) <= MOST_TABLES and watches(connection):
        query = USED
    else:
        return None
    names, rows = connection.named_rows(query)
    return reading(dict(zip(names, rows[0], strict=True)), frozenset(names))


def _opened(status: Status) -> float:
    found = number_in(status.get("Opened_table_definitions"))
    return MOST_TABLES + 1 if found is None else found


KEYS = Keys()
