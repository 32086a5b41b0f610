"""The conformance suite over real servers of every family."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_lab.servers.base import ScratchServer

from tests.support.conformance import EngineConformance, Subject
from tests.support.engines import OTHER_STORES, scratch
from tests.support.subjects import ENGINES, subject_of

SERVERS = ("postgres15", "redis8", *ENGINES, *OTHER_STORES)
"""The usual server of each engine, and further versions."""

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(scope="class", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[ScratchServer]:
    with scratch(request.param) as server:
        yield server


class TestEngine(EngineConformance):
    @pytest.fixture
    def subject(self, server: ScratchServer, tmp_path: Path) -> Iterator[Subject]:
        found = subject_of(server, tmp_path / "state")
        yield found
        found.engine.health.close()
