"""Sessions that are idle in a transaction, and sessions that wait for them; without the agent's own session.

The seconds of a session that is asleep are those since its last statement, of any other session those since its
statement began. `asleep` are the ones of a minute or more.
"""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.engines.common.answers import reading
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import MARIADB, Status, watches

LOOK = """SELECT COALESCE(SUM(s.idle), 0) AS in_transaction, COALESCE(MAX(IF(s.idle, s.s, 0)), 0) AS in_transaction_s,
COALESCE(SUM(s.command = 'Sleep' AND s.s >= 60), 0) AS asleep, COALESCE(SUM(s.logs_in), 0) AS logging_in,
COALESCE(SUM(s.metadata), 0) AS change_waits, COALESCE(MAX(IF(s.metadata, s.s, 0)), 0) AS change_waits_s,
COALESCE(SUM(s.named), 0) AS named_waits, COALESCE(MAX(IF(s.named, s.s, 0)), 0) AS named_waits_s
FROM (SELECT p.{command} AS command, COALESCE(p.{seconds}, 0) AS s,
p.{command} = 'Sleep' AND p.{id} IN (SELECT TRX_MYSQL_THREAD_ID FROM information_schema.INNODB_TRX) AS idle,
p.{command} = 'Connect' AND p.{user} = 'unauthenticated user' AS logs_in,
COALESCE(p.{state}, '') LIKE 'Waiting for%metadata lock' AS metadata,
COALESCE(p.{state}, '') IN ('User lock', 'Waiting for locking service lock') AS named
FROM {view} p WHERE p.{id} <> CONNECTION_ID() AND p.{user} NOT IN ('system user', 'event_scheduler')) s"""
OF_PROCESSES = LOOK.format(
    command="COMMAND", seconds="TIME", id="ID", user="USER", state="STATE", view="information_schema.PROCESSLIST"
)
OF_THREADS = LOOK.format(
    command="PROCESSLIST_COMMAND",
    seconds="PROCESSLIST_TIME",
    id="PROCESSLIST_ID",
    user="PROCESSLIST_USER",
    state="PROCESSLIST_STATE",
    view="performance_schema.threads",
)


@dataclass(frozen=True)
class Pauses:
    name: str = "pauses"
    view: str = "list of sessions and transactions"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        if MARIADB in connection.server_version.lower():
            query = OF_PROCESSES
        elif watches(connection):
            query = OF_THREADS
        else:
            return None
        names, rows = connection.named_rows(query)
        return reading(dict(zip(names, rows[0], strict=True)), frozenset(names))


PAUSES = Pauses()
