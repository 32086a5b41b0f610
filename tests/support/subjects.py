"""Subjects of every family on real servers, so that one test serves them all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from lutra_agent.clock import SystemClock
from lutra_agent.config.types import DatabaseConfig, RestartConfig
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.families import family
from lutra_agent.lab import daemon
from lutra_agent.lab.mysqld import ScratchMysqld
from lutra_agent.lab.postgresql import ScratchPostgres

from tests.support import mysqlds
from tests.support.agents import Scratch
from tests.support.conformance import Subject
from tests.support.engines import SCRATCH_MYSQLDS, postgres18_bin, scratch, scratch_mysqld

ENGINES = ("postgresql", *SCRATCH_MYSQLDS)


def scratch_of(engine: str) -> AbstractContextManager[Scratch]:
    """A server of one's own: the embedded PostgreSQL, a MySQL or a MariaDB."""
    return scratch(postgres18_bin()) if engine == "postgresql" else scratch_mysqld(SCRATCH_MYSQLDS[engine])


@contextmanager
def scratch_in(folder: Path, engine: str, **options: str) -> Iterator[Scratch]:
    """The same in a given folder."""
    made: Scratch
    if engine == "postgresql":
        made = ScratchPostgres(folder, postgres18_bin(), options=options)
    else:
        made = SCRATCH_MYSQLDS[engine](folder, options=options)
    with made as server:
        yield server


def subject_of(server: Scratch, folder: Path, **more: Any) -> Subject:
    """`more` is laid over how the agent connects."""
    if isinstance(server, ScratchPostgres):
        return postgres_subject(server, folder, **more)
    return mysqlds.subject_of(server, folder, **more)


def engine_of(server: Scratch, **more: Any) -> Engine:
    return postgres_engine(server, **more) if isinstance(server, ScratchPostgres) else mysqlds.engine_of(server, **more)


def sql(server: Scratch, statement: str) -> str:
    return server.psql(statement) if isinstance(server, ScratchPostgres) else server.sql(statement)


def pid_file(server: Scratch) -> Path:
    """It names the server's process on its first line from early in a start on, and is gone after a stop."""
    if isinstance(server, ScratchPostgres):
        return server.data_dir / "postmaster.pid"
    return server.directory / "server.pid"


def stop_command(server: Scratch) -> list[str]:
    if isinstance(server, ScratchMysqld):
        return daemon.command("stop", server.directory)
    return server._control("stop", "-m", "fast")


def postgres_engine(server: ScratchPostgres, **more: Any) -> Engine:
    fields: dict[str, Any] = {"engine": "postgresql", "host": server.host, "port": server.port}
    fields |= {"user": server.user, "dbname": server.dbname}
    return family("postgresql").open(DatabaseConfig(**{**fields, **more}))


def postgres_subject(server: ScratchPostgres, folder: Path, **more: Any) -> Subject:
    engine, clock = postgres_engine(server, **more), SystemClock()
    restart = RestartConfig(tuple(server.restart_command), tuple(server.start_command), 60.0, server.data_dir)

    def fresh() -> dict[str, str]:
        rows = server.psql("SELECT name, setting FROM pg_settings").split("\n")
        return {name: value for name, _, value in (row.partition("|") for row in rows)}

    return Subject(
        engine,
        ServerControl(restart, engine, clock),
        folder,
        fresh,
        lambda: [server.psql("SELECT count(*) FROM pg_class") for _ in range(20)] and None,
        server.stop,
        {"work_mem": 8192, "random_page_cost": 1.5, "jit": "off"},
        {"shared_buffers": 8192},
        {"shared_buffers": 1 << 29},
        {"random_page_cost": -5},
    )
