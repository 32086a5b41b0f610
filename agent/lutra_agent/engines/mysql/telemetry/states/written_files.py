"""The volume that MySQL writes to its binary log. MariaDB counts it among its status variables."""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import MARIADB, FromQuery, Status


@dataclass(frozen=True)
class OfMysql(FromQuery):
    def read(self, connection: Connection, status: Status) -> Reading | None:
        return None if MARIADB in connection.server_version.lower() else super().read(connection, status)


BINLOG_FILES = OfMysql(
    "binlog_files",
    "performance_schema.file_summary_by_event_name",
    """SELECT SUM_NUMBER_OF_BYTES_WRITE AS written_bytes FROM performance_schema.file_summary_by_event_name
WHERE EVENT_NAME = 'wait/io/file/sql/binlog'""",
)
GROUP = OfMysql(
    "group",
    "performance_schema.replication_group_members",
    """SELECT COUNT(*) AS members, COALESCE(SUM(MEMBER_STATE = 'ONLINE'), 0) AS online
FROM performance_schema.replication_group_members WHERE CHANNEL_NAME <> '' AND MEMBER_STATE <> 'OFFLINE'""",
    frozenset({"members", "online"}),
)
