"""Real servers that run and do not answer: what a way back does to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lutra_agent.changes.restore import restore
from lutra_agent.changes.snapshots import take_snapshots
from lutra_agent.clock import SystemClock
from lutra_agent.config.types import RestartConfig
from lutra_agent.control.server import ServerControl
from lutra_agent.errors import DidNotStart, ServerStarting
from lutra_agent.state.store import State
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_models.server import SERVER

from tests.support.conformance import HOST
from tests.support.engines import scratch
from tests.support.subjects import ENGINES, engine_of, subject_of
from tests.support.waiting import PATIENCE_S

pytestmark = [pytest.mark.engine, pytest.mark.slow]


class HurriedClock(SystemClock):
    """With each sleep more time passes than anybody waits, as long as `hurried` says so."""

    def __init__(self, hurried: Callable[[], bool]) -> None:
        self._hurried = hurried
        self._passed_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self._passed_s

    def sleep(self, seconds: float) -> None:
        if self._hurried():
            self._passed_s += PATIENCE_S
        else:
            super().sleep(seconds)


@pytest.fixture(params=ENGINES)
def server(request: pytest.FixtureRequest) -> Iterator[ScratchServer]:
    with scratch(request.param) as found:
        yield found


def test_a_server_that_runs_and_does_not_listen_is_waited_for(server: ScratchServer, tmp_path: Path) -> None:
    engine, said = engine_of(server), tmp_path / "said"
    snapshot = take_snapshots(engine, engine.server(HOST))
    engine.health.close()
    commands = ((("/bin/sh", "-c", f"echo {word} >> {said}")) for word in ("restart", "start"))
    config, deaf = RestartConfig(*commands, timeout_s=0.2), engine_of(server, port=1)
    control = ServerControl(config, deaf.health, SystemClock(), State(tmp_path / "state"))
    control.progress.note("started")
    with pytest.raises(DidNotStart, match=r"waited 0\.2 s and the server does not accept connections"):
        control.start_or_wait(snapshot[SERVER].data_dir)
    assert not said.exists()


def test_a_server_that_hangs_on_its_way_up_gets_its_file_back_and_one_restart(
    own_postgres: ScratchPostgres, tmp_path: Path
) -> None:
    """A standby that is not hot lets nobody in, for ever."""
    subject, file = subject_of(own_postgres, tmp_path / "state"), own_postgres.data_dir / "postgresql.auto.conf"
    control = ServerControl(
        RestartConfig(tuple(own_postgres.restart_command), tuple(own_postgres.start_command), timeout_s=PATIENCE_S),
        subject.engine.health,
        HurriedClock(lambda: "hot_standby" in file.read_text()),
        subject.state,
    )
    snapshot = take_snapshots(subject.engine, subject.read_server())
    own_postgres.sql("ALTER SYSTEM SET hot_standby = off")
    own_postgres.sql("ALTER SYSTEM SET work_mem = '8MB'")
    own_postgres.stop()
    (own_postgres.data_dir / "standby.signal").touch()
    own_postgres.start()
    subject.engine.health.close()
    with pytest.raises(ServerStarting):
        subject.engine.health.ping()
    restore(subject.engine, control, snapshot, ["work_mem"], restart=False)
    assert own_postgres.sql("SHOW work_mem") == "4MB"
    assert own_postgres.sql("SHOW hot_standby") == "on"
    subject.engine.health.close()
