"""The rights of the agent's account, from SHOW GRANTS."""

from __future__ import annotations

import re

from lutra_agent.engines.mysql.server.connect import Connection

ALL = "ALL PRIVILEGES"

_GLOBAL = re.compile(r"GRANT (.+?) ON \*\.\* TO ", re.IGNORECASE)


def read(connection: Connection) -> tuple[frozenset[str], str]:
    """The account's privileges on everything, including active roles, and its name in the form of GRANT."""
    lines = [str(row[0]) for row in connection.rows("SHOW GRANTS")]
    account = connection.row("SELECT CURRENT_USER()")[0]
    user, _, host = str(account).rpartition("@")
    return privileges(lines), f"'{user}'@'{host}'"


def privileges(lines: list[str]) -> frozenset[str]:
    """Names in upper case, as in `REPLICATION CLIENT`."""
    found: set[str] = set()
    for line in lines:
        granted = _GLOBAL.match(line)
        if granted:
            found |= {name.strip().upper() for name in granted[1].split(",")}
    # MariaDB prints the older names of these two.
    return frozenset(found | ({"SLAVE MONITOR"} if "REPLICA MONITOR" in found else set()))
