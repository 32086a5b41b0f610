from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_service.edge import limits

from tests.support.service.application import migrated
from tests.support.service.hosted import Agent, Service, running
from tests.support.service.rows import Rows


@pytest.fixture(scope="session")
def worker_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tests of one process keep their rows, one after another."""
    return tmp_path_factory.mktemp("rows")


@pytest.fixture(scope="session")
def postgres_rows(store_postgres: ScratchPostgres) -> Rows:
    return Rows(store_postgres)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.engine)])
def url(request: pytest.FixtureRequest, worker_folder: Path) -> Iterator[str]:
    """Where the service keeps its rows: every test runs on both, over rows of its own, under the same address."""
    if request.param == "sqlite":
        yield migrated(worker_folder)
        for file in worker_folder.iterdir():
            file.unlink()
        return
    with request.getfixturevalue("postgres_rows").empty() as url:
        yield url


@pytest.fixture
def service(tmp_path: Path, url: str) -> Iterator[Service]:
    with running(tmp_path, url) as service:
        yield service


@pytest.fixture
def database(service: Service) -> str:
    return service.database()


@pytest.fixture
def agent(service: Service, database: str) -> Agent:
    return service.agent(database)


@pytest.fixture
def five(monkeypatch: pytest.MonkeyPatch) -> float:
    """A rate that grants five requests, and not one more while a test lasts, however long that is."""
    per_s = 2.0**-20
    monkeypatch.setattr(limits, "BURST_S", 5 / per_s)
    return per_s
