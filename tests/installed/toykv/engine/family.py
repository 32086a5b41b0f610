"""The engine, and the line that names it."""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.config.types import DatabaseConfig
from lutra_agent.config.values import OptionalPath
from lutra_agent.engines.common.engine import Engine, Family

from toykv.engine.client import Client
from toykv.engine.health import ToykvHealth
from toykv.engine.host import ToykvHost
from toykv.engine.settings import ToykvSettings
from toykv.engine.telemetry import ToykvTelemetry


@dataclass(frozen=True, kw_only=True)
class ToykvDatabase(DatabaseConfig):
    """`host_file` is where the host keeps settings of its own: a second setting source."""

    host_file: OptionalPath = None


def open_toykv(database: ToykvDatabase) -> Engine:
    client = Client(database)
    health = ToykvHealth(client)
    own = ToykvSettings(client, health)
    host = () if database.host_file is None else (ToykvHost(database.host_file),)
    return Engine("toykv", health, ToykvTelemetry(client), (own, *host))


FAMILY = Family("toykv", "TOYKV_PASSWORD", ToykvDatabase, open_toykv)
