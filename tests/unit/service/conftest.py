from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_service.db import migrate
from lutra_service.db.schema.engine import make_engine

from tests.support.engines import a_database
from tests.support.service import Agent, Service, running


def migrated(url: str) -> str:
    engine = make_engine(url)
    migrate.upgrade(engine)
    engine.dispose()
    return url


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that the migrations have made: every test gets a copy."""
    file = tmp_path_factory.mktemp("migrated") / "lutra.db"
    migrated(f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def migrated_postgres(store_postgres: ScratchPostgres) -> str:
    """The name of a database that the migrations have made: every test gets a copy."""
    store_postgres.sql("CREATE DATABASE migrated")
    migrated(store_postgres.url("migrated"))
    return "migrated"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.engine)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where the service keeps its rows: every test runs on both."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_sqlite"), tmp_path / "lutra.db")
        yield f"sqlite:///{tmp_path}/lutra.db"
        return
    template = request.getfixturevalue("migrated_postgres")
    with a_database(request.getfixturevalue("store_postgres"), template) as url:
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
