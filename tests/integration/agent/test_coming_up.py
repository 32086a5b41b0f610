"""A real server that runs and does not answer: what a way back does to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lutra_agent.changes.restore import restore
from lutra_agent.changes.snapshots import take_snapshots
from lutra_agent.clock import SystemClock
from lutra_agent.config.types import RestartConfig
from lutra_agent.control.server import ServerControl
from lutra_agent.errors import ServerStarting
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.servers.subjects import subject_of
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
