"""An undo survives whatever happens to the agent between any two steps of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.errors import DidNotStart
from lutra_agent.state.change_events import Event, Restarting, Restored, UndoBegun
from lutra_agent.state.change_record import Changes
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.snapshot import LAST_KNOWN_GOOD, active_in, stored_snapshots
from lutra_models.wire import Rules

from tests.support.agent.directed import ALWAYS
from tests.support.agent.loops import WATCHED, Bench, Line, again, bench, outcomes, turn
from tests.support.fakes.clock import FakeClock

pytestmark = pytest.mark.slow


class Killed(BaseException):
    """The agent's process ended here."""


@pytest.fixture
def live(tmp_path: Path) -> Bench:
    """Settled, and with a change that is provisional."""
    made = bench(tmp_path, "reload_only", with_driver=False, guarding=WATCHED)
    turn(made, 6)
    made.offer({"work_mem": 8192}, restart_allowed=False)
    turn(made, 2)
    assert made.engine.settings["work_mem"].value == "8192"
    return made


def killed_at(monkeypatch: pytest.MonkeyPatch, kind: type[Event], durable: bool) -> None:
    """The agent ends before, or right after, the event of this kind is on disk."""
    real = ChangeStore.write_or_hold

    def kill(store: ChangeStore, event: Event) -> Changes:
        if isinstance(event, kind) and not durable:
            raise Killed
        changes = real(store, event)
        if isinstance(event, kind):
            raise Killed
        return changes

    monkeypatch.setattr(ChangeStore, "write_or_hold", kill)


def changes(made: Bench) -> Changes:
    return ChangeStore(made.state).load()


@pytest.mark.parametrize("kind", [UndoBegun, Restored])
@pytest.mark.parametrize("durable", [False, True])
def test_an_agent_that_is_killed_while_it_undoes_a_change_reports_it_later(
    live: Bench, tmp_path: Path, kind: type[Event], durable: bool
) -> None:
    live.engine.p99_ms = 60.0
    with pytest.MonkeyPatch.context() as patched:
        killed_at(patched, kind, durable)
        with pytest.raises(Killed):
            turn(live, 6)
    fresh = again(live, tmp_path)
    fresh.engine.p99_ms = 60.0
    turn(fresh, 6)
    assert fresh.engine.settings["work_mem"].value == "4096"
    assert [(o.state, o.code) for o in outcomes(fresh)] == [("reverted", "guardrail")]
    assert (changes(fresh).watched, changes(fresh).in_hand) == (None, None)


def test_a_way_back_is_told_once(live: Bench) -> None:
    live.engine.p99_ms = 60.0
    turn(live, 10)
    assert [o.state for o in outcomes(live)] == ["applied", "reverted"]


def test_a_rollback_that_is_undone_itself_leaves_the_change_under_watch(live: Bench, tmp_path: Path) -> None:
    live.offer({"work_mem": 4096}, "rec_2", restore=True, rollback=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(live.engine, "reload", lambda: (_ for _ in ()).throw(Killed()))
        with pytest.raises(Killed):
            turn(live, 2)
    fresh = again(live, tmp_path)
    turn(fresh)
    assert fresh.engine.settings["work_mem"].value == "8192"
    watched = changes(fresh).watched
    assert watched is not None
    assert watched.directive == "rec_1"


def test_no_directive_is_begun_while_another_ones_undo_is_prevented(
    live: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prevented() -> None:
        raise DidNotStart("no undo yet")

    monkeypatch.setattr(live.engine, "reload", prevented)
    live.engine.p99_ms = 60.0
    turn(live, 5)
    in_hand = changes(live).in_hand
    assert in_hand is not None
    assert in_hand.directive == "rec_1"
    live.offer({"work_mem": 16384}, "rec_2", restart_allowed=False)
    turn(live, 3)
    assert changes(live).in_hand == in_hand
    assert changes(live).of("rec_2") is None
    monkeypatch.undo()
    turn(live, 2)
    assert live.engine.settings["work_mem"].value == "4096"


@pytest.mark.slow
def test_a_guard_that_fires_for_the_change_before_does_not_forget_the_one_that_is_being_undone(live: Bench) -> None:
    turn(live, 4)
    assert changes(live).watched is not None
    live.engine.refuses_reload = True
    live.offer({"jit": "off"}, "rec_2", restart_allowed=False)
    turn(live)
    in_hand = changes(live).in_hand
    assert in_hand is not None
    assert in_hand.directive == "rec_2"
    live.engine.locks_out = True
    turn(live, 9)
    assert live.database.monitor.firing == ("unreachable",)
    assert changes(live).in_hand == in_hand
    live.engine.locks_out = live.engine.refuses_reload = False
    turn(live, 2)
    assert live.engine.file == {"work_mem": "8MB"}
    assert [o.state for o in outcomes(live, "rec_2")] == ["failed", "reverted"]
    assert changes(live).watched is not None


def test_no_window_confirms_a_change_after_its_time(live: Bench) -> None:
    turn(live)
    windows = changes(live).watched
    assert windows is not None
    assert windows.windows == 0
    live.clock.seconds += 290
    turn(live, 4)
    assert [(o.state, o.code) for o in outcomes(live)] == [("applied", None), ("reverted", "not_confirmed")]


def test_an_error_of_the_agents_own_costs_an_interval_and_is_told(
    live: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(live.engine, "ping", lambda: 1 // 0)
        turn(live)
        assert live.loop.problems == ["internal error of the agent: integer division or modulo by zero"]
    assert "internal error of the agent" in caplog.text
    turn(live, 6)
    assert [o.state for o in outcomes(live)] == ["applied", "confirmed"]


def test_a_clock_that_is_set_back_costs_no_report(live: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    told = len(live.line.reports)
    put = live.reports.put

    def late(*what: object) -> None:
        live.clock.seconds -= 30
        put(*what)  # type: ignore[arg-type]
        live.clock.seconds += 30

    monkeypatch.setattr(live.reports, "put", late)
    turn(live, 2)
    assert len(live.line.reports) == told + 2
    assert all(r.window is None or r.sent_at >= r.window.end for r in live.line.reports)


def test_a_restart_by_somebody_else_leaves_nothing_of_a_change_that_was_only_in_the_file(tmp_path: Path) -> None:
    """The host dies between the change's file and the agent's own restart; at its boot the server reads that file."""
    clock = FakeClock()
    line = Line(clock, rules=Rules(maintenance_windows=(ALWAYS,)))
    made = bench(tmp_path, "restart_in_window", with_driver=False, guarding=WATCHED, clock=clock, line=line)
    turn(made, 6)
    made.offer({"shared_buffers": 32768})
    real = ChangeStore.write

    def dies(store: ChangeStore, event: Event) -> Changes:
        if isinstance(event, Restarting):
            raise Killed
        return real(store, event)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ChangeStore, "write", dies)
        with pytest.raises(Killed):
            turn(made, 2)
    made.engine.start()
    assert made.engine.settings["shared_buffers"].value == "32768"
    fresh = again(made, tmp_path)
    turn(fresh, 8)
    assert fresh.engine.settings["shared_buffers"].value == "16384"
    assert [(o.state, o.restarted, o.active) for o in outcomes(fresh)] == [
        ("reverted", True, {"shared_buffers": 16384})
    ]
    good = stored_snapshots(fresh.state, LAST_KNOWN_GOOD)
    assert good is not None
    assert active_in(good)["shared_buffers"] == "16384"
