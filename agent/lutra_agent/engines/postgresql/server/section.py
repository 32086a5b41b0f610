"""PostgreSQL's part of the agent's `[database]` section."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lutra_agent.config.types import DatabaseConfig
from lutra_agent.config.values import OptionalPath, required

WHICH = "the one in which pg_stat_statements was created"


@dataclass(frozen=True, kw_only=True)
class PostgresqlDatabase(DatabaseConfig):
    """A connection is always to a database: `dbname` is the agent's and the load's.

    `watch_transactions`: look at the running ones several times a second, for their p99. `read_log`: take it from the
    durations in the server's log, if there are any; `server_log` if the server does not write its log itself.
    """

    dbname: Annotated[str, required(WHICH)]
    watch_transactions: bool = True
    read_log: bool = False
    server_log: OptionalPath = None

    def __post_init__(self) -> None:
        if not self.dbname:
            raise ValueError(f"dbname is empty: name {WHICH}")
