"""The conformance suite over real servers of every family."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.conformance import EngineConformance, Subject
from tests.support.engines import MYSQLDS, POSTGRES, scratch
from tests.support.subjects import subject_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(scope="class", params=POSTGRES)
def postgres_server(request: pytest.FixtureRequest) -> Iterator[ScratchPostgres]:
    with scratch(request.param) as server:
        yield server


@pytest.fixture(scope="class", params=MYSQLDS)
def mysqld_server(request: pytest.FixtureRequest) -> Iterator[ScratchMysqld]:
    with scratch(request.param) as server:
        yield server


class TestPostgres(EngineConformance):
    @pytest.fixture
    def subject(self, postgres_server: ScratchPostgres, tmp_path: Path) -> Iterator[Subject]:
        found = subject_of(postgres_server, tmp_path / "state")
        yield found
        found.engine.health.close()


class TestMysqlFamily(EngineConformance):
    @pytest.fixture
    def subject(self, mysqld_server: ScratchMysqld, tmp_path: Path) -> Iterator[Subject]:
        found = subject_of(mysqld_server, tmp_path / "state")
        yield found
        found.engine.health.close()
