"""Engines beside real servers of every family, so that one test serves them all."""

from __future__ import annotations

from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any

from lutra_agent.clock import SystemClock
from lutra_agent.config.types import DatabaseConfig, RestartConfig
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.families import family
from lutra_lab.scratch import scratch_servers
from lutra_lab.servers.base import ScratchServer

from tests.support.conformance.engine import Subject
from tests.support.servers.families import known_of
from tests.support.waiting import PATIENCE_S

ENGINES = tuple(kind.engine for kind in scratch_servers())


def database(server: ScratchServer, **more: Any) -> DatabaseConfig:
    """How an agent connects; `more` is laid over it."""
    fields: dict[str, Any] = {"engine": server.engine, "host": server.host, "port": server.port}
    fields |= {"user": server.user, "dbname": server.dbname, "include_file": server.include_file}
    section = family(more.get("engine", server.engine)).section
    known = {f.name for f in fields_of(section)}
    return section(**{**{k: v for k, v in fields.items() if k in known}, **more})


def engine_of(server: ScratchServer, **more: Any) -> Engine:
    made = database(server, **more)
    return family(made.engine).open(made)


def subject_of(server: ScratchServer, folder: Path, **more: Any) -> Subject:
    """`more` is laid over how the agent connects."""
    facts, engine, clock = known_of(server), engine_of(server, **more), SystemClock()
    restart = RestartConfig(tuple(server.restart_command), tuple(server.start_command), PATIENCE_S, server.data_dir)

    def load() -> None:
        with server.session() as run:
            for _ in range(50):
                run(facts.work)

    return Subject(
        engine,
        ServerControl(restart, engine.health, clock),
        folder,
        lambda: variables(server),
        load,
        server.stop,
        facts.at_once,
        facts.with_restart,
        facts.prevents_boot,
        facts.refused,
    )


def variables(server: ScratchServer) -> dict[str, str]:
    """Every setting as a fresh connection reads it, but those that the server changes by itself."""
    facts = known_of(server)
    rows = (line.partition("|") for line in server.sql(facts.settings).split("\n"))
    return {name: value for name, _, value in rows if name not in facts.by_itself}
