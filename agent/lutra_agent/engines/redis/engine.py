"""Redis, Valkey and pika, as the agent sees them."""

from __future__ import annotations

from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.redis.health import RedisHealth
from lutra_agent.engines.redis.server.connect import Connection
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.engines.redis.server.session import PRODUCTS, Session
from lutra_agent.engines.redis.sources import conf
from lutra_agent.engines.redis.sources.source import RedisSource
from lutra_agent.engines.redis.telemetry.probe import Probe
from lutra_agent.engines.redis.telemetry.telemetry import RedisTelemetry


def open_engine(database: RedisDatabase, name: str) -> Engine:
    """Connects lazily."""
    session = Session(database, PRODUCTS[name])
    probe = Probe(Connection(database, answer_s=None), database.probe_per_s) if database.probe_per_s else None
    source = RedisSource(session, conf.PIKA if name == "pika" else conf.REDIS)
    health = RedisHealth(session) if probe is None else RedisHealth(session, probe.stop)
    return Engine(name, health, RedisTelemetry(session, probe), (source,))
