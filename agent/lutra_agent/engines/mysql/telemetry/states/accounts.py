"""Accounts that anyone can use. Only if the agent's account may read the table of accounts, which is rare."""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.engines.common.answers import reading
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import MARIADB, Status, denied
from lutra_agent.errors import CollectionFailed

KEYED = "'', 'mysql_native_password', 'mysql_old_password', 'caching_sha2_password', 'sha256_password', 'ed25519'"
HERE = "'localhost', '127.0.0.1', '::1', ''"
SOURCES = {
    True: """SELECT User AS user, Host AS host, COALESCE(JSON_VALUE(Priv, '$.plugin'), '') AS plugin,
COALESCE(JSON_VALUE(Priv, '$.authentication_string'), '') = '' AND JSON_QUERY(Priv, '$.auth_or') IS NULL AS bare
FROM mysql.global_priv WHERE COALESCE(JSON_VALUE(Priv, '$.is_role'), 0) = 0
AND COALESCE(JSON_VALUE(Priv, '$.account_locked'), 0) = 0""",
    False: """SELECT User AS user, Host AS host, plugin, authentication_string = '' AS bare
FROM mysql.user WHERE account_locked = 'N'""",
}
ACCOUNTS_OF = {
    mariadb: f"""SELECT COUNT(*) AS counted,
COALESCE(SUM(bare AND plugin IN ({KEYED}) AND user <> '' AND away), 0)
AS open_from_afar, COALESCE(SUM(bare AND plugin IN ({KEYED}) AND user <> '' AND NOT away), 0) AS open_here,
COALESCE(SUM(user = ''), 0) AS anonymous, COALESCE(SUM(user = 'root' AND host = '%'), 0) AS root_anywhere,
COALESCE(SUM(plugin = 'mysql_native_password'), 0) AS old_plugin
FROM (SELECT a.*, host NOT IN ({HERE}, LOWER(@@hostname)) AS away FROM ({source}) a) b"""  # noqa: S608
    for mariadb, source in SOURCES.items()
}
GAUGES = frozenset({"counted", "open_from_afar", "open_here", "anonymous", "root_anywhere", "old_plugin"})


@dataclass(frozen=True)
class Accounts:
    name: str = "accounts"
    view: str = "table of accounts"
    absent: str = "the agent's account may not read it: accounts are not judged"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        try:
            names, rows = connection.named_rows(ACCOUNTS_OF[MARIADB in connection.server_version.lower()])
        except CollectionFailed as error:
            if denied(error):
                return None
            raise
        return reading(dict(zip(names, rows[0], strict=True)), GAUGES) if rows else None


ACCOUNTS = Accounts()
