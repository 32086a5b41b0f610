"""redis-benchmark, or valkey-benchmark: clients that write and read keys at random, as fast as they are answered."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from lutra_agent.config.section import Section, read
from lutra_agent.config.values import Whole, within
from lutra_agent.drivers.base import Measurement, Moment, nothing
from lutra_agent.drivers.command import parse
from lutra_agent.drivers.process import Span, run
from lutra_agent.engines.common.database import Database
from lutra_agent.errors import ConfigError, DriverFailed
from lutra_models.ending import Level
from lutra_models.knobs import Value

from lutra_lab.drivers import redis_clients

NAME = "redis-benchmark"
PROGRAMS = ("valkey-benchmark", NAME)
ENGINES = ("redis", "valkey", "pika")
DEFAULT_USERS = ("", "default")


@dataclass(frozen=True)
class Options(Section):
    """`clients` write and read values of `data_size` bytes under `keys` names, each `pipeline` commands at a time.

    The share `writes` of the clients writes, and the others read.
    """

    kind: str
    clients: Annotated[Whole, within(1, 10_000)] = 50
    writes: Annotated[float, within(0, 1)] = 0.2
    keys: Annotated[Whole, within(1, 10**9)] = 100_000
    data_size: Annotated[Whole, within(1, 1 << 20)] = 512
    pipeline: Annotated[Whole, within(1, 1000)] = 1
    warmup_s: Annotated[float, within(1, 86400)] = 5.0
    duration_s: Annotated[float, within(1, 86400)] = 60.0

    @property
    def span(self) -> Span:
        # It ends after as many requests as the warm-up promised: a server that slows down takes longer.
        return Span(self.warmup_s, self.duration_s, self.duration_s + 30.0)

    @property
    def tests(self) -> dict[str, int]:
        """Clients of each test; where both are asked for, each has one at least."""
        if self.writes in (0, 1):
            return {"set" if self.writes else "get": self.clients}
        writing = min(max(1, round(self.writes * self.clients)), max(1, self.clients - 1))
        return {"set": writing, "get": max(1, self.clients - writing)}


class RedisBenchmark:
    name = NAME

    def __init__(self, options: Options, database: Database) -> None:
        if database.engine not in ENGINES:
            raise ConfigError(f"driver.kind: {NAME} loads no {database.engine!r}")
        self.options = options
        self.database = database

    @property
    def program(self) -> str:
        return next((p for p in PROGRAMS if shutil.which(p)), NAME)

    def context(self) -> dict[str, Value]:
        o = self.options
        told = {"clients": o.clients, "writes": o.writes, "keys": o.keys}
        return {"driver": self.name, **told, "data_size": o.data_size, "pipeline": o.pipeline}

    def run(
        self, on_window_start: Moment = nothing, on_window_end: Moment = nothing, must_reach: Level | None = None
    ) -> Measurement:
        o = self.options
        tests = ",".join(f"{test}={clients}" for test, clients in o.tests.items())
        load = ["-r", str(o.keys), "-d", str(o.data_size), "-P", str(o.pipeline)]
        ours = [sys.executable, "-m", redis_clients.__name__, f"{o.duration_s:g}", f"{o.warmup_s:g}", tests]
        argv = [*ours, self.program, *self._where(), *load]
        finished = run(argv, dict(os.environ), o.span, on_window_start, on_window_end)
        return parse(finished, o.span.warmup_s, self.name)

    def _where(self) -> list[str]:
        d = self.database
        if d.password() is not None or d.user not in DEFAULT_USERS:
            way = "give the load an account without one, or use the command driver"
            raise DriverFailed(f"{NAME} takes a password only as an argument, which every account can read: {way}")
        if d.host.startswith("/"):
            return ["-s", d.host]
        tls = [] if d.tls_ca is None else ["--tls", "--cacert", str(d.tls_ca)]
        return ["-h", d.host, "-p", str(d.port), *tls]


def build(table: Mapping[str, Any], database: Database) -> RedisBenchmark:
    return RedisBenchmark(read(Options, table, "driver"), database)


DRIVER = (RedisBenchmark.name, build)
