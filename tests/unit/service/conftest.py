from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.service import Agent, Service, running


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with running(tmp_path) as service:
        yield service


@pytest.fixture
def database(service: Service) -> str:
    return service.database()


@pytest.fixture
def agent(service: Service, database: str) -> Agent:
    return service.agent(database)
