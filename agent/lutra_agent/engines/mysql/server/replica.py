"""The replication channels through which this server follows another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lutra_agent.engines.common.answers import number, understood
from lutra_agent.engines.common.source import Permissions
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection

RENAMED = (8, 0, 22)
FILTERS = (
    "replicate_do_db",
    "replicate_ignore_db",
    "replicate_do_table",
    "replicate_ignore_table",
    "replicate_wild_do_table",
    "replicate_wild_ignore_table",
)


@dataclass(frozen=True)
class Channel:
    """`delay_s` is its intended delay. `io_error` and `sql_error` are the last error's number, or 0.

    `by_gtid` says that its position is a GTID and not one in a file, `filtered` that it leaves out databases or tables.
    """

    lag_s: float | None
    running: bool
    receives: bool = True
    applies: bool = True
    io_error: float = 0.0
    sql_error: float = 0.0
    delay_s: float = 0.0
    by_gtid: bool = True
    filtered: bool = False


class Standstill:
    """The server reports no lag of a stopped channel, which is at least as far behind as it has been stopped.

    That time counts from the first reading in which the channel was stopped: the server does not report the true one.
    """

    def __init__(self) -> None:
        self._since_s: float | None = None

    def with_lag(self, found: Reading, monotonic_s: float) -> Reading:
        """`found` with a lag of at least that time."""
        if not found.gauges["stopped"]:
            self._since_s = None
            return found
        if self._since_s is None:
            self._since_s = monotonic_s
        lag_s = max(found.gauges.get("lag_s", 0.0), monotonic_s - self._since_s)
        return replace(found, gauges={**found.gauges, "lag_s": lag_s})


@understood("replication")
def channels(connection: Connection) -> list[Channel]:
    """Raises CollectionFailed if the account may not see them."""
    names, rows = connection.named_rows(statement(connection.server_version))
    return [_channel(dict(zip((n.lower() for n in names), row, strict=True))) for row in rows]


def statement(version: str) -> str:
    """The statement that shows the channels on a server with this greeting."""
    if "mariadb" in version.lower():
        return "SHOW ALL SLAVES STATUS"
    numbers = tuple(int(n) for n in re.findall(r"\d+", version)[:3])
    return "SHOW REPLICA STATUS" if numbers >= RENAMED else "SHOW SLAVE STATUS"


def privilege(version: str) -> str:
    """The privilege that lets an account see the channels."""
    return "SLAVE MONITOR" if "mariadb" in version.lower() else "REPLICATION CLIENT"


def unseen(found: Permissions, version: str, account: str, why: str) -> Permissions:
    """If the channels are hidden, a replica that accepts writes looks like a primary: nothing may be changed."""
    remedy = f"GRANT {privilege(version)} ON *.* TO {account};"
    why_not = f"this account cannot see whether the server is a replica ({why}), so nothing may be changed"
    return Permissions(frozenset(), found.may_reload, (*found.remedies, remedy), why_not)


def _channel(row: Mapping[str, Any]) -> Channel:
    lag = row.get("seconds_behind_source", row.get("seconds_behind_master"))
    threads = {n.rsplit("_", 2)[1]: v for n, v in row.items() if n.endswith(("_io_running", "_sql_running"))}
    gtid = row.get("using_gtid", row.get("auto_position", 1))
    return Channel(
        None if lag is None else float(lag),
        all(v == "Yes" for v in threads.values()),
        threads.get("io", "Yes") == "Yes",
        threads.get("sql", "Yes") == "Yes",
        number(row.get("last_io_errno")) or 0.0,
        number(row.get("last_sql_errno")) or 0.0,
        number(row.get("sql_delay")) or 0.0,
        gtid not in ("No", 0, "0"),
        any(row.get(name) for name in FILTERS),
    )
