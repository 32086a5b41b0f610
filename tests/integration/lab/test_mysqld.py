"""What scratch servers of the MySQL family do by themselves: they bring no control program."""

from __future__ import annotations

import os
import signal

import pytest
from lutra_lab.servers import controlled
from lutra_lab.servers.controlled import Daemon
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_lab.servers.ports import accepts

from tests.support.waiting import PATIENCE_S

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_a_server_that_has_lost_its_process_id_file_is_stopped_all_the_same(own_mysqld: ScratchMysqld) -> None:
    own_mysqld.pid_file.unlink()
    own_mysqld.stop()
    assert not accepts(own_mysqld.port)
    own_mysqld.start()
    own_mysqld.pid_file.unlink()
    own_mysqld.start()
    assert own_mysqld.sql("SELECT 1") == "1"
    own_mysqld.remove()
    assert not accepts(own_mysqld.port)


def test_a_restart_kills_a_server_that_does_not_shut_down(
    own_mysqld: ScratchMysqld, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Daemon.stop
    monkeypatch.setattr(Daemon, "stop", lambda self, _: stop(self, patience_s=1.0))
    monkeypatch.setattr(controlled, "PATIENCE_S", PATIENCE_S)
    before = own_mysqld.pid
    assert before is not None
    own_mysqld.sql("CREATE TABLE t (a INT PRIMARY KEY)")
    os.kill(before, signal.SIGSTOP)
    Daemon.read(own_mysqld.control_file).restart()
    assert own_mysqld.pid not in (None, before)
    assert own_mysqld.sql("SELECT COUNT(*) FROM t") == "0"
