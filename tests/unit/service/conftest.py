from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.service import Agent, Service, running


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.engine)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the service keeps its rows: every test runs on both."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/lutra.db"
    found: str = request.getfixturevalue("empty_postgres_url")
    return found


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
