"""The conformance suite over real servers of every family."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_agent.clock import SystemClock
from lutra_agent.config import DatabaseConfig, RestartConfig
from lutra_agent.control import Control
from lutra_agent.engines import family
from lutra_agent.lab.mysqld import ScratchMysqld
from lutra_agent.lab.postgresql import ScratchPostgres

from tests.support.conformance import EngineConformance, Subject
from tests.support.engines import SCRATCH_BINARIES, SCRATCH_MYSQLDS, scratch, scratch_mysqld
from tests.support.mysqlds import subject_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def postgres_subject(server: ScratchPostgres, folder: Path) -> Subject:
    clock = SystemClock()
    engine = family("postgresql").open(
        DatabaseConfig("postgresql", server.host, server.port, server.user, server.dbname)
    )
    restart = RestartConfig(tuple(server.restart_command), tuple(server.start_command), 60.0, server.data_dir)

    def fresh() -> dict[str, str]:
        rows = server.psql("SELECT name, setting FROM pg_settings").split("\n")
        return {name: value for name, _, value in (row.partition("|") for row in rows)}

    return Subject(
        engine,
        Control(restart, engine, clock),
        folder,
        fresh,
        lambda: [server.psql("SELECT count(*) FROM pg_class") for _ in range(20)] and None,
        server.stop,
        {"work_mem": 8192, "random_page_cost": 1.5, "jit": "off"},
        {"shared_buffers": 8192},
        {"shared_buffers": 1 << 29},
        {"random_page_cost": -5},
    )


@pytest.fixture(scope="class", params=SCRATCH_BINARIES)
def postgres_server(request: pytest.FixtureRequest) -> Iterator[ScratchPostgres]:
    with scratch(SCRATCH_BINARIES[request.param]()) as server:
        yield server


@pytest.fixture(scope="class", params=SCRATCH_MYSQLDS)
def mysqld_server(request: pytest.FixtureRequest) -> Iterator[ScratchMysqld]:
    with scratch_mysqld(SCRATCH_MYSQLDS[request.param]) as server:
        yield server


class TestPostgres(EngineConformance):
    @pytest.fixture
    def subject(self, postgres_server: ScratchPostgres, tmp_path: Path) -> Iterator[Subject]:
        found = postgres_subject(postgres_server, tmp_path / "state")
        yield found
        found.engine.close()


class TestMysqlFamily(EngineConformance):
    @pytest.fixture
    def subject(self, mysqld_server: ScratchMysqld, tmp_path: Path) -> Iterator[Subject]:
        found = subject_of(mysqld_server, tmp_path / "state")
        yield found
        found.engine.close()
