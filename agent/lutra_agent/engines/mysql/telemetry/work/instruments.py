"""The coverage of performance_schema, if it is on: the share of its instruments, and waits one by one."""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.engines.common.answers import reading
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import IS_ON, MARIADB, Status, watches

WATCHED = """SELECT COALESCE(SUM(ENABLED = 'YES'), 0) AS consumers,
COALESCE(SUM(ENABLED = 'YES' AND NAME LIKE 'events_waits%'), 0) AS waits,
(SELECT SUM(ENABLED = 'YES') / COUNT(*) FROM performance_schema.setup_instruments) AS share,
(SELECT SUM(ENABLED = 'YES') / COUNT(*) FROM performance_schema.setup_instruments WHERE NAME LIKE 'wait/synch/%')
AS latches FROM performance_schema.setup_consumers"""


@dataclass(frozen=True)
class Instruments:
    name: str = "instruments"
    view: str = "performance_schema.setup_instruments"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        mariadb = MARIADB in connection.server_version.lower()
        if not (connection.row(IS_ON)[0] if mariadb else watches(connection)):
            return None
        names, rows = connection.named_rows(WATCHED)
        return reading(dict(zip(names, rows[0], strict=True)), frozenset(names))


INSTRUMENTS = Instruments()
