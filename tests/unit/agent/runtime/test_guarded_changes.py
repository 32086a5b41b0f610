"""Changes outside a lab are provisional: confirmed by good windows, else taken back, by the agent alone."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.config.types import GuardConfig
from lutra_agent.errors import ConfigError
from lutra_agent.files import saved_file
from lutra_agent.guardrails.evaluate import WindowReading
from lutra_agent.guardrails.monitor import GuardrailMonitor
from lutra_agent.guardrails.service_rules import ServiceRules
from lutra_agent.reporting.spool import Spool
from lutra_agent.state.change_events import Applied, Begun, UndoBegun
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.snapshot import LAST_KNOWN_GOOD, Snapshot, active_in, stored_snapshots
from lutra_agent.state.store import State
from lutra_models.guardrails import DEFAULTS, Guardrail
from lutra_models.server import SERVER
from lutra_models.wire import GuardEvent, Outcome, Rules

from tests.support.agent.directed import ALWAYS
from tests.support.agent.loops import WATCHED, Bench, Line, again, bench, outcomes, turn
from tests.support.fakes.clock import START, FakeClock

CONFIRM = timedelta(seconds=WATCHED.confirm_s)


@pytest.fixture
def live(tmp_path: Path) -> Bench:
    """Settled: a baseline of five windows."""
    made = bench(tmp_path, "reload_only", with_driver=False, guarding=WATCHED)
    turn(made, 6)
    return made


def change(made: Bench, identifier: str = "rec_1", **more: Any) -> None:
    """Offered, applied, told; the windows after it are still to come."""
    made.offer({"work_mem": 8192}, identifier, **{"restart_allowed": False, **more})
    turn(made, 2)


def events(made: Bench) -> list[GuardEvent]:
    return [e for r in made.line.reports for e in r.events]


def test_a_change_is_confirmed_by_three_good_windows(live: Bench) -> None:
    change(live)
    [applied] = outcomes(live)
    assert (applied.state, applied.confirm_by) == ("applied", applied.at + CONFIRM)
    turn(live, 5)
    assert [o.state for o in outcomes(live)] == ["applied", "confirmed"]
    assert live.engine.settings["work_mem"].value == "8192"
    good = stored_snapshots(live.state, LAST_KNOWN_GOOD)
    assert good is not None
    assert active_in(good)["work_mem"] == "8192"


def test_until_then_the_last_known_good_is_the_one_before(live: Bench) -> None:
    change(live)
    turn(live, 2)
    good = stored_snapshots(live.state, LAST_KNOWN_GOOD)
    assert good is not None
    assert active_in(good)["work_mem"] == "4096"


def test_a_p99_above_twice_the_baseline_takes_the_change_back_and_tells_the_figures_once(live: Bench) -> None:
    change(live)
    live.engine.p99_ms = 60.0
    live.line.away = True
    turn(live, 6)
    assert live.engine.settings["work_mem"].value == "4096"
    assert live.engine.file == {}
    live.line.away = False
    live.engine.p99_ms = 12.5
    turn(live, 8)
    applied, reverted = outcomes(live)
    assert (applied.state, reverted.state, reverted.code) == ("applied", "reverted", "guardrail")
    assert "p99_ms@estimated is 60 for 30 s, bound 25, 12.5 before" in reverted.message
    assert reverted.active == {"work_mem": 4096}
    [event] = events(live)
    assert (event.guard, event.directive, event.value, event.bound, event.baseline) == ("p99", "rec_1", 60, 25, 12.5)


def test_each_step_of_a_change_is_logged_with_its_settings_and_both_values(
    live: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        change(live)
        turn(live, 5)
        live.engine.p99_ms = 60.0
        turn(live, 4)
    there, back = "work_mem 4MB → 8MB", "work_mem 8MB → 4MB"
    for line in (
        f"directive rec_1: changing {there}",
        f"directive rec_1: applied: {there}",
        f"directive rec_1: confirmed: {there}",
    ):
        assert line in caplog.messages
    fired = "p99: p99_ms@estimated is 60 for 30 s, bound 25, 12.5 before"
    assert f"the guard fired: {fired}; undoing rec_1: {back}" in caplog.messages
    assert f"directive rec_1: reverted: {back}: guardrail {fired}" in caplog.messages


def test_an_agent_that_begins_with_an_unsettled_change_says_so(live: Bench, tmp_path: Path) -> None:
    assert live.loop.pending == ""
    change(live)
    [applied] = outcomes(live)
    assert applied.confirm_by is not None
    deadline = f"{applied.confirm_by:%H:%M:%S}"
    told = f"rec_1 is active and not confirmed, and is undone after {deadline} unless good windows confirm it"
    assert again(live, tmp_path).loop.pending == f"{told}: work_mem 4MB → 8MB"
    turn(live, 5)
    assert "guards watch rec_1 until" in live.loop.pending
    ChangeStore(live.state).write(UndoBegun("rec_1", "guardrail", "p99"))
    assert live.loop.pending == "rec_1 is incomplete and is undone first: work_mem 8MB → 4MB"


def test_a_guard_that_fires_soon_after_the_confirmation_takes_the_change_back_too(live: Bench) -> None:
    change(live)
    turn(live, 5)
    live.engine.p99_ms = 60.0
    turn(live, 4)
    assert [o.state for o in outcomes(live)] == ["applied", "confirmed", "reverted"]
    assert live.engine.settings["work_mem"].value == "4096"


def test_a_guard_that_fires_long_after_it_is_an_event_and_no_more(live: Bench) -> None:
    change(live)
    turn(live, 20)
    live.engine.p99_ms = 60.0
    turn(live, 6)
    assert live.engine.settings["work_mem"].value == "8192"
    [event] = events(live)
    assert event.directive is None


def test_a_new_level_becomes_the_baseline_in_time(live: Bench) -> None:
    live.engine.p99_ms = 60.0
    turn(live, 40)
    assert len(events(live)) == 1
    change(live)
    turn(live, 5)
    assert [o.state for o in outcomes(live)] == ["applied", "confirmed"]


def test_while_a_guard_fires_nothing_new_is_applied(live: Bench) -> None:
    live.engine.p99_ms = 60.0
    turn(live, 5)
    change(live)
    assert [(o.state, o.code) for o in outcomes(live)] == [("refused", "guardrail")]


@pytest.mark.slow
def test_a_change_that_no_window_confirms_in_time_is_taken_back(live: Bench) -> None:
    change(live)
    for attempt in range(40):
        live.engine.epoch = str(attempt)  # every window is discarded
        turn(live)
    assert [(o.state, o.code) for o in outcomes(live)] == [("applied", None), ("reverted", "not_confirmed")]
    assert live.engine.settings["work_mem"].value == "4096"


def test_one_change_at_a_time_is_provisional(live: Bench) -> None:
    change(live)
    change(live, "rec_2")
    assert [(o.state, o.code) for o in outcomes(live, "rec_2")] == [("refused", "not_confirmed")]


def test_an_operators_rollback_needs_no_confirmation_and_ends_it(live: Bench) -> None:
    change(live)
    live.offer({"work_mem": 4096}, "rec_2", restore=True, rollback=True)
    turn(live, 2)
    assert [(o.state, o.confirm_by) for o in outcomes(live, "rec_2")] == [("applied", None)]
    assert ChangeStore(live.state).load().watched is None


def test_a_change_whose_time_passed_while_the_agent_was_away_is_taken_back_at_its_start(
    live: Bench, tmp_path: Path
) -> None:
    change(live)
    live.clock.seconds += 1000
    fresh = again(live, tmp_path)
    turn(fresh, 2)
    assert fresh.engine.settings["work_mem"].value == "4096"
    assert [o.code for o in outcomes(fresh)] == ["not_confirmed"]


def test_a_restarted_agent_goes_on_confirming_by_the_same_baseline(live: Bench, tmp_path: Path) -> None:
    change(live)
    fresh = again(live, tmp_path)
    fresh.engine.p99_ms = 60.0
    turn(fresh, 6)
    assert [o.code for o in outcomes(fresh)] == ["guardrail"]
    assert fresh.engine.settings["work_mem"].value == "4096"


@pytest.mark.slow
def test_a_server_that_dies_after_a_change_gets_its_file_back_and_is_started(live: Bench) -> None:
    change(live)
    live.engine.up = False
    turn(live, 9)
    assert live.engine.up
    assert live.engine.settings["work_mem"].value == "4096"
    [event] = events(live)
    assert (event.guard, event.held_s >= 60) == ("unreachable", True)


@pytest.mark.slow
def test_a_server_that_locks_the_agent_out_is_not_started(live: Bench) -> None:
    change(live)
    live.engine.locks_out = True
    turn(live, 9)
    [event] = events(live)
    assert event.guard == "unreachable"
    assert live.control.starts == 0
    assert live.engine.settings["work_mem"].value == "8192"
    live.engine.locks_out = False
    turn(live, 2)
    assert live.engine.settings["work_mem"].value == "4096"
    assert live.control.starts == 0


def test_a_change_under_which_the_server_cannot_be_read_is_taken_back_in_time(live: Bench) -> None:
    change(live)
    live.engine.unreadable = True
    turn(live, 32)
    assert live.engine.settings["work_mem"].value == "4096"
    live.engine.unreadable = False
    turn(live, 2)
    assert outcomes(live)[-1].code == "not_confirmed"


def test_a_change_waits_until_there_is_something_to_compare_it_with(tmp_path: Path) -> None:
    fresh = bench(tmp_path, "reload_only", with_driver=False, guarding=WATCHED)
    for _ in range(3):
        fresh.offer({"work_mem": 8192}, restart_allowed=False)
        turn(fresh)
    assert outcomes(fresh) == []
    assert "3 windows" in fresh.loop.problems[0]
    turn(fresh, 2)
    change(fresh)
    assert [o.state for o in outcomes(fresh)] == ["applied"]
    assert fresh.loop.problems == []


@pytest.mark.slow
def test_a_paused_agent_starts_no_server_and_its_change_waits(live: Bench) -> None:
    change(live)
    live.state.pause()
    live.engine.up = False
    turn(live, 50)
    assert not live.engine.up
    [problem] = live.loop.problems
    assert "the agent is paused: it starts and restarts no server; rec_1 waits" in problem
    live.engine.up = True
    turn(live, 15)
    assert [o.state for o in outcomes(live)] == ["applied", "confirmed"]


def test_what_the_service_sets_tightens_the_file_and_holds_with_the_service_away(live: Bench, tmp_path: Path) -> None:
    live.line.rules = Rules(guardrails={"p99": Guardrail(1.5, 10.0)})
    turn(live)
    fresh = again(live, tmp_path)
    fresh.line.away = True
    fresh.engine.p99_ms = 20.0
    turn(fresh, 3)
    assert fresh.database.rules.guardrails()["p99"] == Guardrail(1.5, 10.0)
    assert fresh.database.monitor.firing == ("p99",)


LOOSE = Rules(
    guardrails={
        "p99": Guardrail(1000.0, 3600.0),
        "qps": Guardrail(0.0, 30.0, enabled=False),
        "disk": Guardrail(0.0, 10.0),
    }
)


def test_what_the_service_sets_loosens_nothing_and_the_service_is_told(live: Bench) -> None:
    live.line.rules = LOOSE
    turn(live)
    rules = live.database.rules
    assert rules.guardrails() == {**DEFAULTS, **WATCHED.guardrails, "qps": DEFAULTS["qps"]}
    [problem] = rules.problems()
    assert "p99, qps, disk; guard.service_may_loosen = true" in problem
    change(live)
    live.engine.p99_ms = 60.0
    turn(live, 6)
    assert [(o.state, o.code) for o in outcomes(live)] == [("applied", None), ("reverted", "guardrail")]


def test_a_file_may_let_the_service_loosen_the_guardrails(tmp_path: Path) -> None:
    rules = ServiceRules(State(tmp_path), replace(WATCHED, service_may_loosen=True))
    rules.update(LOOSE)
    assert rules.guardrails()["p99"] == Guardrail(1000.0, 3600.0)
    assert not rules.guardrails()["qps"].enabled
    assert rules.problems() == []


def test_a_guard_that_the_file_switches_off_is_the_services_to_switch_on(tmp_path: Path) -> None:
    rules = ServiceRules(State(tmp_path), GuardConfig(p99=Guardrail(2.0, 30.0, enabled=False)))
    assert not rules.guardrails()["p99"].enabled
    rules.update(Rules(guardrails={"p99": Guardrail(9.0, 60.0)}))
    assert rules.guardrails()["p99"] == Guardrail(9.0, 60.0)


def test_a_way_back_whose_statement_is_refused_goes_by_the_file(live: Bench) -> None:
    change(live)
    live.engine.p99_ms = 60.0
    live.engine.refuses = {"work_mem"}
    turn(live, 6)
    assert live.engine.settings["work_mem"].value == "4096"
    assert outcomes(live)[-1].state == "reverted"


def test_a_way_back_whose_reload_is_refused_too_goes_by_a_restart(live: Bench) -> None:
    change(live)
    live.engine.p99_ms = 60.0
    live.engine.refuses, live.engine.refuses_reload = {"work_mem"}, True
    turn(live, 6)
    assert live.engine.settings["work_mem"].value == "4096"
    assert live.control.restarts == 1
    assert outcomes(live)[-1].state == "reverted"


def test_a_full_disk_of_the_agents_own_does_not_bar_the_way_back(live: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    change(live)
    live.engine.p99_ms = 60.0

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(State, "save", full)
    turn(live, 6)
    assert live.engine.settings["work_mem"].value == "4096"


def test_a_lab_trial_is_measured_and_not_provisional(tmp_path: Path) -> None:
    lab = bench(tmp_path, "lab", with_driver=True)
    change(lab, measure=True)
    assert [(o.state, o.confirm_by) for o in outcomes(lab)] == [("applied", None)]
    assert ChangeStore(lab.state).load().watched is None


def test_between_the_trials_of_a_lab_no_guard_looks(tmp_path: Path) -> None:
    lab = bench(tmp_path, "lab", with_driver=True, guarding=WATCHED)
    turn(lab, 20)
    assert events(lab) == []
    assert lab.database.monitor.firing == ()


def test_a_lab_agent_with_a_driver_still_confirms_a_change_that_nobody_measures(tmp_path: Path) -> None:
    lab = bench(tmp_path, "lab", with_driver=True, guarding=WATCHED)
    turn(lab)
    change(lab)
    turn(lab, 5)
    assert [o.state for o in outcomes(lab)] == ["applied", "confirmed"]


def test_windows_of_the_change_join_the_baseline_once_it_is_confirmed(tmp_path: Path) -> None:
    state, window = State(tmp_path), WindowReading(START, START, {"qps": 5.0})
    changes = ChangeStore(state)
    watch = GuardrailMonitor(state, changes, lambda: DEFAULTS, replace(WATCHED, confirm_windows=1))
    changes.write(Begun("rec_1", ("x",), {SERVER: Snapshot({}, {}, None)}))
    changes.write(Applied(Outcome(directive="rec_1", state="applied", at=START, confirm_by=START + CONFIRM)))
    assert watch.observe(window, measured=True).confirmed
    assert GuardrailMonitor(state, changes, lambda: DEFAULTS, WATCHED)._calm == [window]


def test_a_confirmation_that_no_report_could_hold_yet_is_told_by_the_next(
    live: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(live)
    turn(live, 3)
    append = Spool.append

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Spool, "append", full)
    turn(live, 2)
    assert [o.state for o in outcomes(live)] == ["applied"]
    monkeypatch.setattr(Spool, "append", append)
    turn(live, 2)
    assert [o.state for o in outcomes(live)] == ["applied", "confirmed"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EPERM])
def test_a_settings_file_is_restored_in_place_where_no_copy_can_stand_in_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    file = tmp_path / "settings"
    file.write_bytes(b"a = 1\n")
    saved = saved_file.save_file(file)
    file.write_bytes(b"a = 1\nb = 2\n")

    def full(*arguments: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(saved_file, "write_atomically", full)
    assert saved is not None
    saved.restore()
    assert file.read_bytes() == b"a = 1\n"
    saved.restore()  # it says so already: nothing is written


def test_a_file_that_could_not_be_written_back_is_no_way_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "settings"
    file.write_bytes(b"a = 1\n")
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    monkeypatch.setattr(os, "access", lambda path, mode: path != file or mode == os.R_OK)
    assert saved_file.save_file(file) is None


def test_a_return_to_the_baseline_is_not_undone_into_the_experiment_by_a_guard(live: Bench) -> None:
    change(live)
    turn(live, 5)
    live.offer({"work_mem": 4096}, "rec_2", restart_allowed=False, restore=True, rollback=True)
    turn(live, 2)
    live.engine.p99_ms = 60.0
    turn(live, 8)
    assert live.engine.settings["work_mem"].value == "4096"
    assert [o.state for o in outcomes(live, "rec_2")] == ["applied"]
    assert [e.directive for e in events(live)] == [None]


def test_what_its_own_disk_does_not_know_is_watched_whatever_the_service_says(live: Bench) -> None:
    live.offer({"work_mem": 16384}, "rec_1", restart_allowed=False, restore=True, rollback=True)
    turn(live, 2)
    live.engine.p99_ms = 60.0
    turn(live, 8)
    assert live.engine.settings["work_mem"].value == "4096"


def test_a_clock_that_is_set_back_gives_a_change_no_more_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Guardrail(2.0, 3600.0)
    made = bench(tmp_path, "reload_only", with_driver=False, guarding=replace(WATCHED, p99=slow))
    turn(made, 6)
    change(made)
    made.engine.p99_ms = 60.0  # never confirmed by good windows, and the guard holds its peace for an hour
    now = made.clock.now
    monkeypatch.setattr(made.clock, "now", lambda: now() - timedelta(hours=12))
    turn(made, 10)
    assert made.engine.settings["work_mem"].value == "4096"
    assert [(o.state, o.code) for o in outcomes(made)][-1] == ("reverted", "not_confirmed")


@pytest.mark.parametrize(
    "trouble",
    [ConfigError("database.engine = 'redis', but the server is valkey"), UnicodeDecodeError("a", b"", 0, 1, "")],
)
def test_an_error_that_nobody_expected_keeps_no_change_from_being_undone_in_time(
    live: Bench, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    change(live)
    reports, identity = len(live.line.reports), live.engine.identity

    def fails() -> Any:
        raise trouble

    monkeypatch.setattr(live.engine, "identity", fails)
    turn(live, 35)
    assert live.loop.problems
    assert len(live.line.reports) > reports
    assert ChangeStore(live.state).load().provisional is None
    monkeypatch.setattr(live.engine, "identity", identity)
    turn(live, 3)
    assert live.engine.settings["work_mem"].value == "4096"
    assert [(o.state, o.code) for o in outcomes(live)][-1] == ("reverted", "not_confirmed")


def test_the_time_of_the_change_itself_fires_no_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first moment without a free connection after a restart of 70 s is not 70 s without an answer."""
    clock = FakeClock()
    line = Line(clock, rules=Rules(maintenance_windows=(ALWAYS,)))
    made = bench(tmp_path, "restart_in_window", with_driver=False, guarding=WATCHED, clock=clock, line=line)
    turn(made, 6)
    start = made.engine.start

    def slow() -> None:
        clock.seconds += 70
        start()

    monkeypatch.setattr(made.engine, "start", slow)
    made.offer({"shared_buffers": 32768})
    turn(made, 1)
    assert made.engine.settings["shared_buffers"].value == "32768"
    made.engine.locks_out = True
    turn(made, 1)
    made.engine.locks_out = False
    turn(made, 3)
    assert "reverted" not in [o.state for o in outcomes(made)]
