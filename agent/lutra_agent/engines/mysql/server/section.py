"""The MySQL family's part of the agent's `[database]` section."""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.config.types import DatabaseConfig
from lutra_agent.config.values import OptionalPath


@dataclass(frozen=True, kw_only=True)
class MysqlDatabase(DatabaseConfig):
    """`dbname` is the load's; empty for a connection to no database in particular."""

    dbname: str = ""


@dataclass(frozen=True, kw_only=True)
class MariadbDatabase(MysqlDatabase):
    """`include_file`: the file in which the agent writes settings, because this server does not persist them by
    itself.
    """

    include_file: OptionalPath = None
