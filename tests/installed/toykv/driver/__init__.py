"""Clients that read and write keys at random, in a process of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from lutra_agent.config.section import Section, read
from lutra_agent.config.values import Whole, within
from lutra_agent.drivers.base import Measurement, Moment, nothing
from lutra_agent.drivers.command import parse
from lutra_agent.drivers.process import Span, run
from lutra_agent.engines.common.database import Database
from lutra_agent.errors import ConfigError
from lutra_models.ending import Level
from lutra_models.knobs import Value

PROGRAM = Path(__file__).with_name("load.py")


@dataclass(frozen=True)
class Options(Section):
    """`clients` read and write `keys` keys; of all commands `writes` is the share that writes."""

    kind: str
    clients: Annotated[Whole, within(1, 1000)] = 4
    keys: Annotated[Whole, within(1, 10**6)] = 1024
    writes: Annotated[float, within(0, 1)] = 0.1
    warmup_s: Annotated[float, within(0, 86400)] = 1.0
    duration_s: Annotated[float, within(0.1, 86400)] = 5.0

    @property
    def span(self) -> Span:
        return Span(self.warmup_s, self.duration_s)


class ToykvLoad:
    name = "toykv"

    def __init__(self, options: Options, database: Database) -> None:
        if database.engine != "toykv":
            raise ConfigError(f"driver.kind: toykv loads no {database.engine!r}")
        self.options = options
        self.database = database

    def context(self) -> dict[str, Value]:
        o = self.options
        return {"driver": self.name, "clients": o.clients, "keys": o.keys, "writes": o.writes}

    def run(
        self, on_window_start: Moment = nothing, on_window_end: Moment = nothing, must_reach: Level | None = None
    ) -> Measurement:
        o, d = self.options, self.database
        numbers = (d.port, o.clients, o.keys, o.writes, o.warmup_s, o.duration_s)
        argv = [sys.executable, str(PROGRAM), d.host, *map(str, numbers)]
        finished = run(argv, dict(os.environ), o.span, on_window_start, on_window_end)
        return parse(finished, o.span.warmup_s, self.name)


def build(table: Mapping[str, Any], database: Database) -> ToykvLoad:
    return ToykvLoad(read(Options, table, "driver"), database)


DRIVER = ("toykv", build)
