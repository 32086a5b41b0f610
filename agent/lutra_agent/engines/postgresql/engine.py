"""PostgreSQL, as the agent sees it."""

from __future__ import annotations

from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.postgresql.health import PostgresHealth
from lutra_agent.engines.postgresql.server.connect import Connection
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase
from lutra_agent.engines.postgresql.server.session import Session
from lutra_agent.engines.postgresql.source import PostgresSource
from lutra_agent.engines.postgresql.telemetry.ages.sampler import Sampler
from lutra_agent.engines.postgresql.telemetry.log.reader import LogReader
from lutra_agent.engines.postgresql.telemetry.telemetry import PostgresTelemetry

FAMILY = "postgresql"


def open_postgresql(database: PostgresqlDatabase) -> Engine:
    """Connects lazily."""
    session = Session(Connection(database))
    sampler = Sampler(Connection(database)) if database.watch_transactions else None
    source = PostgresSource(session, FAMILY)
    log = LogReader(database.server_log) if database.read_log else None
    health = PostgresHealth(session) if sampler is None else PostgresHealth(session, sampler.stop)
    return Engine(FAMILY, health, PostgresTelemetry(session, sampler, log), (source,))
