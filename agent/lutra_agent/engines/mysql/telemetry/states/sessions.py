"""Waits for a server lock, for a table lock or for a replica, as each session reports them.

A lock that is never released blocks every session behind it, and the server does not count them until they have
finished.
"""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.engines.common.answers import reading
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import MARIADB, Status

GLOBAL = "'Waiting for global read lock', 'Waiting for backup lock', 'Waiting for commit lock'"
TABLE = (
    "'Waiting for table metadata lock', 'Waiting for schema metadata lock', 'Waiting for table flush', "
    "'Waiting for table level lock', 'Waiting for tablespace metadata lock'"
)
ACKNOWLEDGED = "'Waiting for semi-sync ACK%'"
VIEWS = {
    True: "SELECT USER AS account, COMMAND AS command, STATE AS state, TIME AS s FROM information_schema.PROCESSLIST",
    False: "SELECT PROCESSLIST_USER AS account, PROCESSLIST_COMMAND AS command, PROCESSLIST_STATE AS state, "
    "PROCESSLIST_TIME AS s FROM performance_schema.threads WHERE PROCESSLIST_ID IS NOT NULL",
}
SESSIONS = {
    mariadb: f"""SELECT SUM(work) - 1 AS working, SUM(dump) AS followers, SUM(glob) AS global_lock,
MAX(glob_s) AS global_lock_s, SUM(tab) AS table_lock, MAX(tab_s) AS table_lock_s, SUM(ack) AS replica_ack,
MAX(ack_s) AS replica_ack_s, MAX(IF(account IN ('system user', 'event_scheduler'), 0, n)) AS most_of_account FROM (
SELECT account, COUNT(*) AS n, SUM(command IN ('Query', 'Execute')) AS work, SUM(command LIKE 'Binlog Dump%%') AS dump,
SUM(COALESCE(state, '') IN ({GLOBAL})) AS glob, MAX(IF(state IN ({GLOBAL}), s, 0)) AS glob_s,
SUM(COALESCE(state, '') IN ({TABLE})) AS tab, MAX(IF(state IN ({TABLE}), s, 0)) AS tab_s,
SUM(COALESCE(state, '') LIKE {ACKNOWLEDGED}) AS ack, MAX(IF(state LIKE {ACKNOWLEDGED}, s, 0)) AS ack_s
FROM ({view}) p GROUP BY account) a""".replace("%%", "%")  # noqa: S608
    for mariadb, view in VIEWS.items()
}
"""The agent's own session is at work as well, and is subtracted. Without instrumentation there is no row."""
GAUGES = frozenset(
    {
        "working",
        "followers",
        "global_lock",
        "global_lock_s",
        "table_lock",
        "table_lock_s",
        "replica_ack",
        "replica_ack_s",
        "most_of_account",
    }
)


@dataclass(frozen=True)
class WaitingSessions:
    name: str = "sessions"
    view: str = "list of sessions"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        names, rows = connection.named_rows(SESSIONS[MARIADB in connection.server_version.lower()])
        found = reading(dict(zip(names, rows[0], strict=True)), GAUGES) if rows else Reading()
        return found if found.gauges else None


WAITING_SESSIONS = WaitingSessions()
