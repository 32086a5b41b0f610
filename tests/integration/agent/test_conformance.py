"""The conformance suite over real servers of every family."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_agent.changes.snapshots import take_snapshots
from lutra_agent.clock import SystemClock
from lutra_agent.config.types import RestartConfig
from lutra_agent.control.server import ServerControl
from lutra_agent.errors import DidNotStart
from lutra_lab.servers.base import ScratchServer
from lutra_models.server import SERVER

from tests.support.conformance.engine import EngineConformance, Subject
from tests.support.servers.engines import OTHER_STORES, scratch
from tests.support.servers.subjects import ENGINES, engine_of, subject_of

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

    def test_one_that_runs_and_does_not_listen_is_waited_for(
        self, server: ScratchServer, subject: Subject, tmp_path: Path
    ) -> None:
        snapshot, said = take_snapshots(subject.engine, subject.read_server()), tmp_path / "said"
        commands = ((("/bin/sh", "-c", f"echo {word} >> {said}")) for word in ("restart", "start"))
        config, deaf = RestartConfig(*commands, timeout_s=0.2), engine_of(server, port=1)
        control = ServerControl(config, deaf.health, SystemClock(), subject.state)
        control.progress.note("started")
        with pytest.raises(DidNotStart, match=r"waited 0\.2 s and the server does not accept connections"):
            control.start_or_wait(snapshot[SERVER].data_dir)
        assert not said.exists()
