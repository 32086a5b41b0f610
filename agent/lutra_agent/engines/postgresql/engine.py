"""PostgreSQL, as the agent sees it."""

from __future__ import annotations

from lutra_agent.config.types import DatabaseConfig
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.postgresql.health import PostgresHealth
from lutra_agent.engines.postgresql.server.connect import Connection
from lutra_agent.engines.postgresql.server.session import Session
from lutra_agent.engines.postgresql.source import PostgresSource
from lutra_agent.engines.postgresql.telemetry.telemetry import PostgresTelemetry
from lutra_agent.errors import ConfigError

FAMILY = "postgresql"


def open_postgresql(database: DatabaseConfig) -> Engine:
    """Dials lazily. Raises ConfigError without a database: a connection is always to one."""
    if not database.dbname:
        raise ConfigError("database.dbname is missing: the one in which pg_stat_statements was created")
    session = Session(Connection(database))
    source = PostgresSource(session, FAMILY)
    return Engine(FAMILY, PostgresHealth(session), PostgresTelemetry(session), (source,))
