"""The agent's account on a server of the family."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha1

from lutra_agent.engines.common.account import PASSWORD, AccountPlan, free_name
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.server.section import MysqlDatabase
from lutra_agent.engines.mysql.sources.mariadb import privilege
from lutra_agent.engines.mysql.sources.mysql import MAY_PERSIST, MAY_SET
from lutra_agent.errors import CollectionFailed

TAKEN = "SELECT User FROM mysql.user WHERE User IN %s"
FROM_HERE = "SELECT SUBSTRING_INDEX(USER(), '@', -1)"
NO_DATABASE = {"dbname": ""}
"""The account has rights on the server, and on no database in particular."""
INCLUDE_FILE = (
    "MariaDB keeps no change over a restart by itself: before the agent can change anything, set database.include_file"
)


class _Accounts:
    on_replica = False

    def __init__(self, database: MysqlDatabase) -> None:
        self._connection = Connection(database)

    def execute(self, statement: str, password: str) -> None:
        self._connection.rows(statement.replace(f"'{PASSWORD}'", f"'{password}'"))

    def close(self) -> None:
        self._connection.close()

    def _account(self, names: Sequence[str]) -> tuple[str, str]:
        """The name of an account that is free, and its name in statements: from where this connection comes."""
        name = free_name(names, self._taken(names))
        (host,) = self._connection.row(FROM_HERE)
        return name, f"'{name}'@'{host}'"

    def _taken(self, names: Sequence[str]) -> set[str]:
        """None for an account that may not know it: then the server refuses one that is there."""
        try:
            return {str(row[0]) for row in self._connection.rows(TAKEN, (tuple(names),))}
        except CollectionFailed:
            return set()


class MysqlAccounts(_Accounts):
    def plan(self, names: Sequence[str], settings: Sequence[str], password: str) -> AccountPlan:
        name, account = self._account(names)
        return AccountPlan(
            {"user": name, **NO_DATABASE},
            (
                f"CREATE USER {account} IDENTIFIED BY '{PASSWORD}';",
                f"GRANT PROCESS, REPLICATION CLIENT, {MAY_SET}, {MAY_PERSIST} ON *.* TO {account};",
                f"GRANT SELECT ON performance_schema.* TO {account};",
            ),
            (f"DROP USER {account};",),
        )


class MariadbAccounts(_Accounts):
    def plan(self, names: Sequence[str], settings: Sequence[str], password: str) -> AccountPlan:
        name, account = self._account(names)
        rights = ("PROCESS", "SLAVE MONITOR", *sorted(set(map(privilege, settings))))
        return AccountPlan(
            {"user": name, **NO_DATABASE},
            (
                f"CREATE USER {account} IDENTIFIED BY PASSWORD '{_native(password)}';",
                f"GRANT {', '.join(rights)} ON *.* TO {account};",
            ),
            (f"DROP USER {account};",),
            (INCLUDE_FILE,),
        )


def _native(password: str) -> str:
    """What the server stores of a password for the method mysql_native_password."""
    return "*" + sha1(sha1(password.encode()).digest()).hexdigest().upper()  # noqa: S324  (the server's own)
