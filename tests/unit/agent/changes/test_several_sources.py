"""One change over two setting sources, the server's own and its host's file: applied, verified and undone as one."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.commands import rollback
from lutra_agent.errors import ApplyRefused, DidNotStart, LoginRefused
from lutra_agent.files import saved_file
from lutra_agent.state.snapshot import BASELINE, stored_snapshots, texts_in
from lutra_models.catalog.statements import Step
from lutra_models.errors import ApplyCode
from lutra_models.server import SERVER

from tests.support.agent import loops
from tests.support.agent.directed import Directed, directed
from tests.support.agent.mortal import Lives, MortalEngine
from tests.support.fakes.host import FakeHost, described

BOTH: dict[str, Any] = {"work_mem": 8192, "swappiness": 10}
WITH_RESTART: dict[str, Any] = {"shared_buffers": 32768, "reserved_pages": 512, "swappiness": 10}


@pytest.fixture(autouse=True)
def _described() -> Iterator[None]:
    with described():
        yield


@pytest.fixture
def bench(tmp_path: Path) -> Directed:
    made = directed(tmp_path)
    made.engine.host = FakeHost(tmp_path / "host.conf")
    return made


def host(bench: Directed) -> FakeHost:
    assert bench.engine.host is not None
    return bench.engine.host


def now(bench: Directed) -> tuple[Any, ...]:
    """All that a change may touch: what is active and what the files say."""
    return bench.active(), bench.file


def undo(bench: Directed) -> Any:
    change = bench.changes.watched
    assert change is not None
    return bench.executor().undo(change, "guardrail", "why")


def test_one_change_over_both_is_applied_verified_and_undone_as_one(bench: Directed) -> None:
    before = now(bench)
    outcome = bench.do(BOTH)
    assert (outcome.state, outcome.active, outcome.restarted) == ("applied", BOTH, False)
    assert (bench.active()["work_mem"], host(bench).active()["swappiness"]) == ("8192", "10")
    assert (bench.engine.file, host(bench).file) == ({"work_mem": "8MB"}, {"swappiness": "10"})
    assert undo(bench).state == "reverted"
    assert now(bench) == before


def test_one_restart_makes_what_waits_for_it_active_in_both(bench: Directed) -> None:
    before = now(bench)
    outcome = bench.do(WITH_RESTART)
    assert (outcome.state, outcome.active, outcome.restarted) == ("applied", WITH_RESTART, True)
    assert bench.control.restarts == 1
    assert undo(bench).state == "reverted"
    assert now(bench) == before
    assert bench.control.restarts == 2


def test_the_servers_own_source_is_changed_first_and_becomes_active_last(bench: Directed) -> None:
    seen = recorded(bench)
    bench.do(BOTH)
    steps = ["server ALTER SYSTEM SET work_mem = '8MB'", "host swappiness = '10'"]
    assert seen == [*steps, "host reload", "server reload"]
    seen.clear()
    undo(bench)
    steps = ["host without swappiness", "host reload", "server ALTER SYSTEM RESET work_mem", "server reload"]
    assert seen == steps


def test_a_change_of_the_host_alone_asks_nothing_of_the_server(bench: Directed) -> None:
    seen = recorded(bench)
    assert bench.do({"swappiness": 10}).state == "applied"
    assert undo(bench).state == "reverted"
    assert seen == ["host swappiness = '10'", "host reload", "host without swappiness", "host reload"]
    assert host(bench).file == {}


@pytest.mark.parametrize("wanted", [BOTH, WITH_RESTART])
def test_what_the_second_source_refuses_undoes_the_first(bench: Directed, wanted: dict[str, Any]) -> None:
    before, host(bench).fails = now(bench), 1
    outcome = bench.do(wanted)
    assert (outcome.state, outcome.code) == ("reverted", "internal_error")
    assert "refused by the host" in outcome.message
    assert (now(bench), bench.control.restarts) == (before, 0)


def test_what_the_server_refuses_never_reaches_the_host(bench: Directed) -> None:
    before, seen = now(bench), recorded(bench)
    bench.engine.refuses = {"jit"}
    outcome = bench.do({**BOTH, "jit": "off"})
    assert outcome.state == "reverted"
    assert "host swappiness = '10'" not in seen
    assert now(bench) == before


@pytest.mark.parametrize("name", ["work_mem", "swappiness"])
def test_a_value_that_does_not_become_active_in_one_undoes_both(bench: Directed, name: str) -> None:
    before = now(bench)
    (bench.engine if name == "work_mem" else host(bench)).ignored = {name}
    outcome = bench.do(BOTH)
    assert (outcome.state, outcome.code) == ("reverted", "not_active_after_apply")
    assert name in outcome.message
    assert now(bench) == before


@pytest.mark.parametrize("by", ["server", "host"])
def test_a_server_that_does_not_start_with_either_gets_both_files_back(bench: Directed, by: str) -> None:
    before = now(bench)
    name = "shared_buffers" if by == "server" else "reserved_pages"
    bench.engine.breaks = lambda file: name in {**file, **host(bench).file}
    outcome = bench.do(WITH_RESTART)
    assert (outcome.state, outcome.code, bench.engine.up) == ("reverted", "did_not_start", True)
    assert now(bench) == before


def test_a_change_of_the_host_alone_that_prevents_the_start_is_undone(bench: Directed) -> None:
    before = now(bench)
    bench.engine.breaks = lambda file: "reserved_pages" in host(bench).file
    assert bench.do({"reserved_pages": 512}).code == "did_not_start"
    assert (now(bench), bench.engine.up) == (before, True)


def test_a_source_that_asks_the_server_gets_its_bytes_back_while_that_is_down(bench: Directed) -> None:
    before, theirs = now(bench), host(bench)
    theirs.needs_server = True
    start = bench.engine.start

    def started() -> None:
        start()
        theirs.server_answers = bench.engine.up

    bench.engine.breaks = lambda file: "reserved_pages" in theirs.file
    bench.engine.start = started  # type: ignore[method-assign]
    assert bench.do({"shared_buffers": 32768, "reserved_pages": 512}).code == "did_not_start"
    assert (now(bench), bench.engine.up) == (before, True)


def test_an_undo_that_the_host_prevents_restores_the_server_and_is_tried_again(
    bench: Directed, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = now(bench)
    bench.do(BOTH)
    with monkeypatch.context() as patched:
        full_disk(patched, host(bench).path)
        host(bench).refuses = {"swappiness"}
        with pytest.raises(ApplyRefused, match=r"host\.conf cannot be restored"):
            undo(bench)
    assert (bench.engine.file, host(bench).file) == ({}, {"swappiness": "10"})
    assert bench.changes.in_hand is not None
    host(bench).refuses = set()
    outcome = bench.executor().recover()
    assert outcome is not None
    assert (outcome.state, outcome.code, now(bench)) == ("reverted", "guardrail", before)


def test_an_undo_that_the_server_prevents_restores_the_host_and_is_tried_again(bench: Directed) -> None:
    before = now(bench)
    bench.do(BOTH)
    bench.engine.refuses_reload = True
    bench.control._config = bench.control._config.__class__(start_command=("start",))
    with pytest.raises(ApplyRefused, match="permission denied"):
        undo(bench)
    assert host(bench).file == {}
    bench.engine.refuses_reload = False
    outcome = bench.executor().recover()
    assert outcome is not None
    assert (outcome.state, now(bench)) == ("reverted", before)


def test_a_server_that_refuses_the_login_keeps_nothing_else_from_being_restored(bench: Directed) -> None:
    before = now(bench)
    bench.do(BOTH)
    bench.engine.locks_out = True
    with pytest.raises(LoginRefused):
        undo(bench)
    assert (host(bench).file, bench.engine.file) == ({}, {"work_mem": "8MB"})
    bench.engine.locks_out = False
    assert bench.executor().recover() is not None
    assert now(bench) == before


def test_a_paused_agent_restores_the_host_of_a_server_that_is_down(bench: Directed) -> None:
    bench.do(BOTH)
    bench.engine.up = False
    bench.state.pause()
    with pytest.raises(DidNotStart, match="paused"):
        undo(bench)
    assert host(bench).file == {}
    bench.state.resume()
    assert bench.executor().recover() is not None
    assert bench.engine.up
    assert bench.engine.file == {}


def test_a_refusal_that_a_host_makes_of_its_undo_restarts_no_server(bench: Directed) -> None:
    bench.do(BOTH)
    theirs = host(bench)
    theirs.refuses, theirs.reload = {"swappiness"}, refused  # type: ignore[method-assign]
    with pytest.raises(ApplyRefused, match="no reload"):
        undo(bench)
    assert bench.control.restarts == 0


def test_a_source_without_a_file_is_undone_by_its_steps_alone(tmp_path: Path) -> None:
    bench = directed(tmp_path)
    bench.engine.host = FakeHost(None)
    before = now(bench)
    assert bench.do({"shared_buffers": 32768, "swappiness": 10}).state == "applied"
    bench.engine.up = False
    assert undo(bench).state == "reverted"
    assert now(bench) == before


def test_a_file_that_the_account_may_not_know_prevents_a_restart_and_no_file_does_not(
    bench: Directed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host(bench), "settings_file", lambda: None)
    outcome = bench.do(WITH_RESTART)
    assert (outcome.state, outcome.code) == ("refused", "insufficient_privilege")
    assert "a restart needs a copy to restore" in outcome.message


def test_what_only_a_reboot_changes_is_left_to_the_hosts_operator(bench: Directed) -> None:
    outcome = bench.do({**BOTH, "preemption": "full"})
    assert (outcome.state, outcome.code) == ("refused", "restart_not_allowed")
    assert outcome.message == "needs a reboot of the host, which only its operator can do: preemption"


def test_a_right_that_is_missing_in_the_second_source_refuses_the_change_before_its_first_step(bench: Directed) -> None:
    before, host(bench).ungranted = now(bench), {"swappiness"}
    outcome = bench.do(BOTH)
    assert (outcome.state, outcome.code) == ("refused", "insufficient_privilege")
    assert "swappiness. chown it;" in outcome.message
    assert now(bench) == before


def test_a_directive_that_goes_back_does_so_in_both(bench: Directed) -> None:
    before = now(bench)
    bench.do(BOTH)
    outcome = bench.do({"work_mem": 4096, "swappiness": 60}, restore=True, rollback=True)
    assert outcome.state == "applied"
    assert now(bench) == before


def test_a_baseline_of_an_agent_that_had_one_source_gets_the_second(bench: Directed) -> None:
    second, bench.engine.host = host(bench), None
    bench.do({"work_mem": 8192})
    undo(bench)
    bench.engine.host = second
    bench.do({"swappiness": 10})
    baseline = stored_snapshots(bench.state, BASELINE)
    assert baseline is not None
    assert set(baseline) == {SERVER, "host"}
    assert texts_in(baseline)["swappiness"] is None


def test_a_source_that_the_agent_has_no_longer_is_named_and_the_server_is_restored(bench: Directed) -> None:
    bench.do(BOTH)
    bench.engine.host = None
    with pytest.raises(ApplyRefused, match="this agent has no setting source host, which keeps swappiness"):
        undo(bench)
    assert bench.engine.file == {}


@pytest.mark.parametrize("up", [True, False])
def test_an_operators_rollback_restores_all_sources_of_a_server_that_is_up_or_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, up: bool
) -> None:
    engine = MortalEngine(tmp_path / "postgresql.auto.conf", host=FakeHost(tmp_path / "host.conf"))
    engine.lives = Lives(tmp_path)
    made = loops.bench(tmp_path, "lab", with_driver=False, engine=engine)
    bench = Directed(engine, made.control, made.state, made.clock, mode="lab", driver=True)
    before = now(bench)
    assert bench.do(WITH_RESTART).state == "applied"
    engine.up = up
    monkeypatch.setattr(rollback, "local_database", lambda config, clock: made.database)
    said = list(rollback.roll_back(made.database.config, BASELINE, restart=True))
    assert (now(bench), engine.up) == (before, True)
    assert ("swappiness: 10 → 60" in said) == up


class Killed(BaseException):
    """The agent's process ended here."""


@pytest.mark.parametrize("killed_by", ["server", "host"])
def test_an_agent_that_is_killed_between_the_sources_undoes_both_at_its_next_start(
    bench: Directed, killed_by: str
) -> None:
    before = now(bench)
    source = bench.engine if killed_by == "server" else host(bench)
    real = source.execute

    def execute(steps: Sequence[Step]) -> None:
        real(steps)
        raise Killed

    source.execute = execute  # type: ignore[method-assign]
    with pytest.raises(Killed):
        bench.do(BOTH)
    source.execute = real  # type: ignore[method-assign]
    assert now(bench) != before
    outcome = bench.executor().recover()
    assert outcome is not None
    assert (outcome.state, outcome.code, now(bench)) == ("reverted", "internal_error", before)


def recorded(bench: Directed) -> list[str]:
    """What is asked of which source, from now on."""
    seen: list[str] = []
    for source in (bench.engine, host(bench)):
        note(source, seen)
    return seen


def note(source: Any, seen: list[str]) -> None:
    execute, reload = source.execute, source.reload

    def executed(steps: Sequence[Step]) -> None:
        seen.extend(f"{source.name} {s.text}" for s in steps)
        execute(steps)

    def reloaded() -> None:
        seen.append(f"{source.name} reload")
        reload()

    source.execute, source.reload = executed, reloaded


def refused() -> None:
    raise ApplyRefused(ApplyCode.INTERNAL_ERROR, "no reload")


def full_disk(patched: pytest.MonkeyPatch, path: Path | None) -> None:
    """No room for this file, neither for a second copy nor in place."""
    for name in ("write_atomically", "overwrite", "remove"):
        real = getattr(saved_file, name)

        def write(where: Path, *more: Any, _real: Any = real) -> None:
            if where == path:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            _real(where, *more)

        patched.setattr(saved_file, name, write)
