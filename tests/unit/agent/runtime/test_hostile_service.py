"""A service that lies: what it says of a directive opens nothing that the agent's own file and disk do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.admission.bounds import Pace
from lutra_agent.errors import Deferred
from lutra_agent.state.change_record import KEPT
from lutra_models.guardrails import GUARDS, Guardrail, laid_over, tightened

from tests.support.agent.directed import ALWAYS, CONFIRM_S, NEVER_TODAY, Directed, directed
from tests.support.agent.loops import WATCHED, bench, outcomes, turn

BACK = {"restore": True, "rollback": True}
EVERYTHING = {"restore": True, "rollback": True, "measure": True}
TWO_TB_KB = (1 << 31) - 1


@pytest.fixture
def live(tmp_path: Path) -> Directed:
    return directed(tmp_path)


@pytest.mark.parametrize("flags", [{"restore": True}, {"rollback": True}, {"measure": True}, BACK, EVERYTHING])
def test_no_word_of_the_service_lifts_the_memory_limit(live: Directed, flags: dict[str, bool]) -> None:
    before = live.active()
    for settings in ({"shared_buffers": 4 << 20}, {"work_mem": TWO_TB_KB}):
        assert live.do(settings, **flags).code == "memory_budget_exceeded"
    assert (live.active(), live.engine.statements) == (before, [])


def test_a_restart_makes_nothing_active_that_is_too_large_and_only_stands_in_the_file_yet(live: Directed) -> None:
    live.engine.path.write_text("shared_buffers = '32GB'\n")
    assert live.do({"max_connections": 120}).code == "memory_budget_exceeded"
    assert live.control.restarts == 0
    assert live.do({"work_mem": 8192}).state == "applied"


def test_no_word_of_the_service_opens_a_maintenance_window(live: Directed) -> None:
    live.windows = ()
    assert live.do({"shared_buffers": 32768}, **EVERYTHING).code == "outside_maintenance_window"
    assert live.control.restarts == 0


@pytest.mark.parametrize("flags", [BACK, EVERYTHING, {"measure": True}])
def test_a_change_to_new_values_is_provisional_whatever_the_service_calls_it(
    live: Directed, flags: dict[str, bool]
) -> None:
    outcome = live.do({"work_mem": 8192}, **flags)
    assert outcome.confirm_by is not None
    assert (outcome.confirm_by - outcome.at).total_seconds() == CONFIRM_S
    assert live.unconfirmed


def test_a_lab_without_a_driver_measures_nothing_so_its_changes_are_provisional(live: Directed) -> None:
    live.mode = "lab"
    live.do({"work_mem": 8192}, measure=True)
    assert live.unconfirmed


@pytest.mark.parametrize(
    "settings",
    [{}, {"work_mem": 8192}, {"jit": "on"}, {"jit": "on", "work_mem": 8192}, {"random_page_cost": 4.0}],
)
def test_a_rollback_that_leaves_the_unconfirmed_change_in_place_does_not_end_it(
    live: Directed, settings: dict[str, Any]
) -> None:
    live.do({"work_mem": 8192, "jit": "off"})
    kept = live.changes.watched
    assert live.do(settings, **BACK).code == "not_confirmed"
    assert live.changes.watched == kept


def test_a_rollback_that_leaves_a_watched_change_in_place_does_not_end_its_watch(live: Directed) -> None:
    live.do({"work_mem": 8192, "jit": "off"})
    live.watch()
    change = live.changes.watched
    assert change is not None
    assert change.confirmed
    assert live.do({}, **BACK).state == "applied"
    assert live.changes.watched == change


def test_a_rollback_of_the_unconfirmed_change_is_carried_out_and_ends_it(live: Directed) -> None:
    before = live.active()
    live.do({"work_mem": 8192, "shared_buffers": 32768})
    live.windows = ()
    outcome = live.do({"work_mem": 4096, "shared_buffers": 16384}, **BACK)
    assert (outcome.state, outcome.confirm_by, live.unconfirmed) == ("applied", None, False)
    assert live.active() == before


def test_a_rollback_of_an_older_change_is_carried_out_at_once(live: Directed) -> None:
    steps = [(4096, 16384), (8192, 32768), (16384, 65536), (8192, 131072)]
    for work_mem, shared_buffers in steps[1:]:
        assert live.do({"work_mem": work_mem, "shared_buffers": shared_buffers}).state == "applied"
        live.confirm()
    live.windows = ()
    for work_mem, shared_buffers in reversed(steps[:-1]):
        outcome = live.do({"work_mem": work_mem, "shared_buffers": shared_buffers}, **BACK)
        assert (outcome.state, live.unconfirmed) == ("applied", False)


def test_values_of_two_configurations_together_are_a_new_one(live: Directed) -> None:
    live.do({"work_mem": 8192, "jit": "off"})
    live.confirm()
    live.do({"work_mem": 16384})
    live.confirm()
    outcome = live.do({"work_mem": 4096, "jit": "off", "random_page_cost": 2.0}, **BACK)
    assert outcome.confirm_by is not None
    live.confirm()
    assert live.do({"work_mem": 8192, "jit": "on"}, **BACK).confirm_by is not None


def test_a_known_value_beside_larger_ones_of_today_is_held_to_the_memory_limit(live: Directed) -> None:
    live.engine.settings["work_mem"] = live.engine.defaults["work_mem"] = _of(live, "work_mem", "262144")
    assert live.do({"work_mem": 4096}).state == "applied"
    live.confirm()
    assert live.do({"shared_buffers": 262144}).state == "applied"
    live.confirm()
    assert live.do({"work_mem": 262144}, **BACK).code == "memory_budget_exceeded"


def test_a_change_that_nobody_confirmed_is_nothing_to_come_back_to(live: Directed) -> None:
    live.do({"work_mem": 8192})
    live.do({"work_mem": 4096}, **BACK)
    outcome = live.do({"work_mem": 8192}, **BACK)
    assert outcome.confirm_by is not None


def test_what_a_lab_tried_is_nothing_to_come_back_to_in_production(live: Directed) -> None:
    live.mode, live.driver = "lab", True
    for value in (8192, 16384, 4096):
        assert live.do({"work_mem": value}, measure=True).confirm_by is None
    live.mode, live.driver = "restart_in_window", False
    assert live.do({"work_mem": 8192}, **BACK).confirm_by is not None


@pytest.mark.slow
def test_a_name_that_was_given_before_opens_nothing(live: Directed) -> None:
    applied = live.do({"work_mem": 8192}, id="first")
    for _ in range(KEPT + 1):
        live.do({"work_mem": -1})
    kept, statements = live.changes.watched, list(live.engine.statements)
    assert live.outcome("rec_2") is None
    assert live.do({"work_mem": 16384}, id="first") == applied
    assert (live.changes.watched, live.engine.statements) == (kept, statements)


@pytest.mark.parametrize(
    "settings",
    [
        {"max_connections": 1},
        {"max_wal_size": 2},
        {"random_page_cost": 1e9},
        {"work_mem": 64},
        {"wal_buffers": -1},
    ],
)
@pytest.mark.parametrize("flags", [{}, BACK])
def test_a_value_outside_the_catalogues_range_is_refused_with_the_range(
    live: Directed, settings: dict[str, Any], flags: dict[str, bool]
) -> None:
    outcome = live.do(settings, **flags)
    assert outcome.code == "invalid_value"
    assert "the range of the catalogue; agent.ranges = 'server'" in outcome.message
    assert live.engine.statements == []


@pytest.mark.parametrize("name", ["port", "archive_command", "shared_preload_libraries", "ssl_key_file", "hba_file"])
def test_a_setting_outside_the_catalogue_is_refused(live: Directed, name: str) -> None:
    assert live.do({name: "x"}, **BACK).code == "unknown_setting"


def test_a_range_holds_what_was_active_before(live: Directed) -> None:
    assert live.do({"max_connections": 300}).state == "applied"
    live.confirm()
    assert live.do({"max_connections": 150}).state == "applied"


def test_both_the_services_and_the_files_maintenance_windows_have_to_be_open(live: Directed) -> None:
    live.own_windows = (NEVER_TODAY,)
    refused = live.do({"shared_buffers": 32768})
    assert (refused.code, "agent's own file" in refused.message) == ("outside_maintenance_window", True)
    live.own_windows, live.windows = (ALWAYS,), (NEVER_TODAY,)
    assert live.do({"shared_buffers": 32768}).code == "outside_maintenance_window"
    live.windows = (ALWAYS,)
    assert live.do({"shared_buffers": 32768}).state == "applied"


def test_changes_and_restarts_within_an_hour_are_bounded(live: Directed) -> None:
    live.pace = Pace(changes=4, restarts=2)
    for number in range(2):
        assert live.do({"shared_buffers": 32768 if number % 2 == 0 else 16384}, **BACK).state == "applied"
        live.confirm()
    with pytest.raises(Deferred, match=r"2 restarts within an hour, the maximum of restart\.per_hour"):
        live.do({"shared_buffers": 32768}, **BACK)
    for value in (8192, 4096):
        assert live.do({"work_mem": value}, **BACK).state == "applied"
        live.confirm()
    with pytest.raises(Deferred, match=r"4 changes within an hour, the maximum of agent\.changes_per_hour"):
        live.do({"work_mem": 8192})
    live.clock.seconds += 3601
    assert live.do({"shared_buffers": 32768}).state == "applied"


def test_refused_directives_come_one_an_interval(tmp_path: Path) -> None:
    made = bench(tmp_path, "reload_only", with_driver=False, guarding=WATCHED)
    turn(made, 6)
    for number in range(30):
        made.offer({"work_mem": -number}, f"bad_{number}", restart_allowed=False)
    began, told = made.clock.seconds, len(made.line.reports)
    turn(made, 30)
    assert made.clock.seconds - began >= 29 * 10
    assert len(made.line.reports) - told <= 2 * 30


def test_directives_that_change_nothing_do_not_blind_the_guards(tmp_path: Path) -> None:
    made = bench(tmp_path, "reload_only", with_driver=False, guarding=WATCHED)
    turn(made, 6)
    made.offer({"work_mem": 8192}, restart_allowed=False)
    turn(made, 2)
    made.engine.p99_ms = 60.0
    for number in range(10):
        made.offer({"jit": "on"} if number % 2 else {"jit": "never"}, f"more_{number}", restart_allowed=False, **BACK)
        turn(made)
    assert outcomes(made)[-1].code == "guardrail"
    assert made.engine.settings["work_mem"].value == "4096"


@pytest.mark.parametrize("guard", GUARDS, ids=lambda g: g.name)
def test_the_services_guardrail_is_never_laxer_than_the_files(guard: Any) -> None:
    floor = laid_over()
    loose = 0.0 if guard.side == "at_least" else 1e18
    strict = 1e18 if guard.side == "at_least" else 0.0
    own = floor[guard.name]
    assert tightened(floor, {guard.name: Guardrail(loose, 3600.0)})[guard.name] == own
    assert tightened(floor, {guard.name: Guardrail(own.limit, own.hold_s, enabled=False)})[guard.name] == own
    assert tightened(floor, {guard.name: Guardrail(strict, 0.0)})[guard.name] == Guardrail(strict, 0.0)


def _of(live: Directed, name: str, value: str) -> Any:
    return replace(live.engine.settings[name], value=value)
