"""Faults on real servers: each ends with the server up and on its last good configuration."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lutra_agent import guard
from lutra_agent.engines.base import Statement
from lutra_agent.engines.mysql import include
from lutra_agent.errors import ApplyRefused, DatabaseUnavailable
from lutra_agent.lab.mysqld import ScratchMysqld

from tests.support.agents import until
from tests.support.conformance import Ended, Subject
from tests.support.engines import SCRATCH_MYSQLDS, scratch_mysqld
from tests.support.mysqlds import AT_ONCE, subject_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]


RIGHTS = {
    "mysql": ("SELECT, PROCESS, REPLICATION CLIENT", "SYSTEM_VARIABLES_ADMIN, PERSIST_RO_VARIABLES_ADMIN"),
    "mariadb": ("SELECT, PROCESS, SLAVE MONITOR", "SUPER, BINLOG ADMIN, CONNECTION ADMIN"),
}


@pytest.fixture(scope="module", params=SCRATCH_MYSQLDS)
def server(request: pytest.FixtureRequest) -> Iterator[ScratchMysqld]:
    with scratch_mysqld(SCRATCH_MYSQLDS[request.param]) as found:
        yield found


@pytest.fixture
def subject(server: ScratchMysqld, tmp_path: Path) -> Iterator[Subject]:
    found = subject_of(server, tmp_path / "state")
    yield found
    found.engine.close()


def after_the_first(subject: Subject, monkeypatch: pytest.MonkeyPatch, happens: Any) -> None:
    """Let something happen when the first step of a change is done."""
    real, done = subject.engine.execute, []

    def execute(statements: Any) -> None:
        if done:
            return real(statements)
        done.append(True)
        real(statements[:1])
        happens()
        return real(statements[1:])

    monkeypatch.setattr(subject.engine, "execute", execute)


def test_a_connection_killed_between_two_statements_is_undone(
    server: ScratchMysqld, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, file = subject.fresh(), subject.file()

    def kill() -> None:
        connection = subject.engine._connection  # type: ignore[attr-defined]
        server.sql(f"KILL {connection.row('SELECT CONNECTION_ID()')[0]}")

    after_the_first(subject, monkeypatch, kill)
    outcome = subject.do("rec_1", subject.at_once)
    assert (outcome.state, outcome.code) == ("reverted", "database_unavailable")
    assert (subject.fresh(), subject.file()) == (before, file)


def test_privileges_revoked_half_way_end_in_a_restart_on_the_restored_file(
    server: ScratchMysqld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts, (sees, changes) = ("localhost", "127.0.0.1"), RIGHTS[server.engine]
    for host in hosts:
        server.sql(f"CREATE USER tuner@'{host}'")
        server.sql(f"GRANT {sees}, {changes} ON *.* TO tuner@'{host}'")
    subject = subject_of(server, tmp_path / "state", user="tuner")
    before, file = subject.kept_settings(), subject.file()

    def revoke() -> None:
        for host in hosts:
            server.sql(f"REVOKE {changes} ON *.* FROM tuner@'{host}'")
        subject.engine.close()  # what an account may do is settled when it connects

    after_the_first(subject, monkeypatch, revoke)
    outcome = subject.do("rec_1", AT_ONCE[server.engine])
    assert (outcome.state, outcome.code) == ("reverted", "insufficient_privilege")
    assert subject.kept_settings() == before
    assert subject.file() == file
    subject.engine.close()
    for host in hosts:
        server.sql(f"DROP USER tuner@'{host}'")


def test_a_server_killed_during_its_restart_comes_back_as_it_was(
    server: ScratchMysqld, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, file = subject.kept_settings(), subject.file()
    real, tried = subject.control.restart, []

    def restart() -> None:
        if not tried:
            tried.append(True)
            server.stop()
            killer = threading.Thread(target=lambda: until(lambda: _kill(server.pid)))
            killer.start()
            try:
                real()
            finally:
                killer.join()
            raise DatabaseUnavailable("the server was killed")
        real()

    monkeypatch.setattr(subject.control, "restart", restart)
    outcome = subject.do("rec_1", {**subject.at_once, **subject.with_restart})
    assert (outcome.state, outcome.code) == ("reverted", "did_not_start")
    assert subject.kept_settings() == before
    assert subject.file() == file


def test_an_agent_killed_while_the_server_is_down_finds_the_way_back(
    server: ScratchMysqld, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, file = subject.kept_settings(), subject.file()
    real = subject.control.restart

    def killed() -> None:
        server.stop()
        raise Ended

    monkeypatch.setattr(subject.control, "restart", killed)
    with pytest.raises(Ended):
        subject.do("rec_1", {**subject.at_once, **subject.with_restart})
    monkeypatch.setattr(subject.control, "restart", real)
    outcome = subject.carry_out.recover()
    assert outcome is not None
    assert outcome.code == "did_not_start"
    assert subject.kept_settings() == before
    assert subject.file() == file


def test_a_disk_that_is_full_while_the_include_file_is_written_undoes_the_change(
    server: ScratchMysqld, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    if server.include_file is None:
        steps = subject.engine.put_back("x", "1", "1", restart=False)
        assert not any(type(s) is not Statement and "include" in s.text for s in steps)
        return  # MySQL writes its own file
    before, file, real, room = subject.fresh(), subject.file(), include.write_atomically, [1]

    def full(*arguments: Any) -> None:
        if not room:
            raise OSError(28, "No space left on device")
        room.pop()
        real(*arguments)

    monkeypatch.setattr(include, "write_atomically", full)
    barred = subject.do("rec_1", AT_ONCE[server.engine])
    # The way back by statements writes that file too: it is restored whole instead, which needs a restart here.
    assert barred.state == "reverted"
    assert "No space left" in barred.message
    assert subject.kept_settings() == {n: v for n, v in before.items() if n not in subject.not_kept}
    assert subject.file() == file


def test_a_value_that_another_one_cuts_is_asked_for_again(subject: Subject) -> None:
    wanted = {n: v for n, v in subject.at_once.items() if n.startswith("innodb_io")}
    assert subject.do("rec_1", wanted).active == wanted
    snapshot = guard.Snapshot.from_dict(subject.state.load(guard.BASELINE))
    guard.go_back(subject.engine, subject.control, snapshot, list(wanted), restart=False)
    assert guard.differences(subject.look(), snapshot) == []


def test_a_number_that_the_server_rounds_is_reported_and_no_failure(subject: Subject) -> None:
    before, file = subject.fresh(), subject.file()
    outcome = subject.do("rec_1", {"innodb_buffer_pool_size": 200_000_000})
    assert outcome.state == "applied"
    assert outcome.active["innodb_buffer_pool_size"] != 200_000_000
    assert "not 200000000" in outcome.message
    snapshot = guard.Snapshot.from_dict(subject.state.load(guard.BASELINE))
    guard.go_back(subject.engine, subject.control, snapshot, ["innodb_buffer_pool_size"], restart=False)
    assert (subject.fresh(), subject.file()) == (before, file)


def test_a_statement_that_the_server_refuses_takes_the_others_back(subject: Subject) -> None:
    before, file = subject.fresh(), subject.file()
    good = subject.engine.put_back("sort_buffer_size", None, "524288", restart=False)
    steps = [*good, Statement("x", "SET GLOBAL no_such = 1")]
    with pytest.raises(ApplyRefused) as refused:
        subject.engine.execute(steps)
    assert refused.value.apply_code == "invalid_value"
    subject.engine.execute(subject.engine.put_back("sort_buffer_size", None, before["sort_buffer_size"], restart=False))
    assert subject.fresh() == before
    guard._restore_bytes(subject.engine, guard.take(subject.engine, subject.look()).file)
    assert subject.engine.file_says(subject.file() or b"") == subject.engine.file_says(file or b"")


def _kill(pid: int | None) -> bool:
    if pid is None:
        return False
    os.kill(pid, signal.SIGKILL)
    return True
