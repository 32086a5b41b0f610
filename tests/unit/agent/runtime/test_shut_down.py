"""A server that somebody shut down is started by nobody but them, whatever the agent was doing; its change waits."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.state.change_events import Event, Restarting
from lutra_agent.state.change_record import Changes
from lutra_agent.state.change_store import ChangeStore
from lutra_models.wire import Rules

from tests.support.agent.directed import ALWAYS
from tests.support.agent.loops import WATCHED, Bench, again, bench, outcomes, turn

LONG = 40
"""Intervals: longer than a change has for its confirmation, and than the guard waits for an answer."""
WAITS = "waits until the server is up again"


class Killed(BaseException):
    """The agent's process ended here."""


@pytest.fixture
def live(tmp_path: Path) -> Bench:
    made = bench(tmp_path, "restart_in_window", with_driver=False, guarding=WATCHED)
    made.line.rules = Rules(maintenance_windows=(ALWAYS,))
    turn(made, 6)
    return made


def changed(made: Bench) -> None:
    made.offer({"work_mem": 8192})
    turn(made, 2)


def down(made: Bench, cycles: int = LONG) -> None:
    """Nothing is started; the agent says so at once, and goes on saying it."""
    starts, commands, told = made.control.starts, made.control.restarts, len(made.line.reports)
    turn(made)
    [problem] = made.loop.problems
    assert "somebody shut the server down: the agent does not start it" in problem
    assert WAITS in problem
    turn(made, cycles)
    assert made.loop.problems == [problem]
    assert (made.engine.up, made.control.starts, made.control.restarts) == (False, starts, commands)
    assert all(not r.events for r in made.line.reports[told:])


@pytest.mark.parametrize("again_meanwhile", [False, True])
def test_a_provisional_change_waits_and_is_confirmed_when_the_server_is_back(
    live: Bench, tmp_path: Path, again_meanwhile: bool, caplog: pytest.LogCaptureFixture
) -> None:
    changed(live)
    live.engine.shut_down()
    down(live)
    assert sum(WAITS in r.getMessage() for r in caplog.records) == 1
    if again_meanwhile:
        before = live
        live = again(live, tmp_path)
        live.engine.up = False
        live.line.reports += before.line.reports
        down(live)
    live.engine.start()
    turn(live, 15)
    assert [o.state for o in outcomes(live)] == ["applied", "confirmed"]
    assert live.engine.settings["work_mem"].value == "8192"
    assert live.loop.problems == []


def test_a_change_that_is_watched_goes_on_being_watched(live: Bench) -> None:
    changed(live)
    turn(live, 5)
    live.engine.shut_down()
    down(live)
    live.engine.start()
    turn(live, 8)
    live.engine.p99_ms = 60.0
    turn(live, 5)
    assert [o.state for o in outcomes(live)] == ["applied", "confirmed", "reverted"]


def test_without_a_change_nothing_is_started_and_no_guard_fires(live: Bench) -> None:
    live.engine.shut_down()
    down(live)
    live.engine.start()
    turn(live, 2)
    assert live.loop.problems == []


def test_a_change_that_is_half_done_is_undone_when_the_server_is_back(
    live: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = live.engine.execute

    def stops(steps: object) -> None:
        execute(steps)  # type: ignore[arg-type]
        live.engine.shut_down()

    with monkeypatch.context() as patched:
        patched.setattr(live.engine, "execute", stops)
        live.offer({"work_mem": 8192, "jit": "off"})
        turn(live)
    down(live)
    assert live.engine.file["work_mem"] == "8MB"
    live.engine.start()
    turn(live, 2)
    assert outcomes(live)[-1].state == "reverted"
    assert live.engine.settings["work_mem"].value == "4096"


def test_an_undo_that_the_shutdown_interrupts_ends_when_the_server_is_back(
    live: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(live)
    with monkeypatch.context() as patched:
        patched.setattr(live.engine, "reload", live.engine.shut_down)
        live.engine.p99_ms = 60.0
        turn(live, 6)
    assert not live.engine.up
    down(live)
    live.engine.start()
    live.engine.p99_ms = 12.5
    turn(live, 2)
    assert [o.state for o in outcomes(live)][-1] == "reverted"


def test_one_that_the_agents_own_restart_stopped_and_that_does_not_boot_is_brought_back(live: Bench) -> None:
    live.engine.breaks = lambda file: "shared_buffers" in file
    live.offer({"shared_buffers": 32768})
    turn(live, 2)
    assert live.engine.up
    assert [(o.state, o.code) for o in outcomes(live)] == [("reverted", "did_not_start")]


@pytest.mark.parametrize("comes_up", [False, True])
def test_an_agent_that_is_killed_in_its_restart_starts_what_did_not_come_up_since(
    live: Bench, tmp_path: Path, comes_up: bool
) -> None:
    """Until it has seen the server up, its own command counts as what stopped it."""
    live.control.killed = Killed()
    live.offer({"shared_buffers": 32768})
    with pytest.raises(Killed):
        turn(live, 2)
    fresh = again(live, tmp_path)
    fresh.engine.shut_down()
    if comes_up:
        fresh.engine.start()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(fresh.database.executor, "recover", lambda: None)
            turn(fresh)
        fresh.engine.shut_down()
        down(fresh)
        fresh.engine.start()
    turn(fresh, 2)
    assert fresh.engine.up
    assert outcomes(fresh)[-1].state == "reverted"
    assert fresh.engine.settings["shared_buffers"].value == "16384"


def test_a_server_that_is_shut_down_just_before_the_agents_restart_is_not_restarted(
    live: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = ChangeStore.write

    def stops(store: ChangeStore, event: Event) -> Changes:
        if isinstance(event, Restarting):
            live.engine.shut_down()
        return write(store, event)

    with monkeypatch.context() as patched:
        patched.setattr(ChangeStore, "write", stops)
        live.offer({"shared_buffers": 32768})
        turn(live)
    down(live)
    live.engine.start()
    turn(live, 2)
    assert outcomes(live)[-1].state == "reverted"


def test_what_tells_nothing_counts_as_shut_down_once_it_was_up(live: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live.engine, "was_shut_down", lambda traces: None)
    changed(live)
    live.engine.up = False
    turn(live, LONG)
    assert live.control.starts == 0
    assert "nothing shows that the server crashed" in live.loop.problems[0]


def test_where_a_cluster_manager_runs_a_crash_restores_the_file_and_leaves_the_start_to_it(
    live: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lutra_agent.control.downtime.psutil.process_iter", lambda: [Patroni()])
    changed(live)
    live.engine.up = False
    turn(live, LONG)
    assert live.control.starts == 0
    assert live.engine.file == {}
    assert "patroni (process 7) decides whether the server runs" in live.loop.problems[0]
    live.engine.start()
    turn(live, 2)
    assert outcomes(live)[-1].state == "reverted"


class Patroni:
    pid = 7

    def name(self) -> str:
        return "patroni"

    def cmdline(self) -> list[str]:
        return ["/usr/bin/python3", "/usr/bin/patroni", "/etc/patroni.yml"]


def test_an_agent_that_starts_beside_a_server_that_is_down_reports_it(live: Bench, tmp_path: Path) -> None:
    """After a restart of the host, say: the service hears within one interval what does not answer."""
    before = live.line.reports[-1]
    live.engine.shut_down()
    started = again(live, tmp_path)
    started.engine.up = False
    turn(started, 1)
    first = started.line.reports[-1]
    assert (first.engine, first.engine_version, first.host) == (before.engine, before.engine_version, before.host)
    assert (first.settings_hash, first.settings, first.window) == (before.settings_hash, None, None)


def test_an_agent_that_never_saw_its_server_has_nothing_to_report_of_it(tmp_path: Path) -> None:
    made = bench(tmp_path, "restart_in_window", with_driver=False)
    made.engine.up = False
    turn(made, 3)
    assert made.line.reports == []
    (made.state.folder / "reported_server.json").write_text('{"engine": 1}')
    turn(made, 3)
    assert made.line.reports == []
