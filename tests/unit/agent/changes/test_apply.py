"""Directives against a server in memory: what is refused, what is done, what is taken back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.errors import DidNotStart, NotRestarted
from lutra_agent.state.snapshot import BASELINE, active_in, stored_snapshots
from lutra_models.history import Mode
from lutra_models.identity import identity
from lutra_models.maintenance import MaintenanceWindow

from tests.support.agent.directed import ALWAYS, Directed, directed
from tests.support.fakes.engine import HOST, FakeControl


class Killed(BaseException):
    """The agent's process ended here."""


@pytest.fixture
def bench(tmp_path: Path) -> Directed:
    return directed(tmp_path, mode="lab", windows=(), driver=True)


def test_a_reload_setting_becomes_active_without_a_restart(bench: Directed) -> None:
    outcome = bench.do({"work_mem": 8192, "jit": "off"})
    assert (outcome.state, outcome.restarted) == ("applied", False)
    assert outcome.active == {"work_mem": 8192, "jit": "off"}
    assert bench.control.restarts == 0


def test_a_restart_setting_becomes_active_with_one_restart(bench: Directed) -> None:
    outcome = bench.do({"shared_buffers": 32768, "work_mem": 8192})
    assert (outcome.state, outcome.restarted, bench.control.restarts) == ("applied", True, 1)
    assert bench.engine.settings["shared_buffers"].value == "32768"


def test_what_is_active_already_is_not_touched(bench: Directed) -> None:
    outcome = bench.do({"work_mem": 4096, "shared_buffers": 16384})
    assert outcome.state == "applied"
    assert bench.engine.statements == []


def test_an_automatic_value_that_the_server_resolved_itself_counts_as_active(bench: Directed) -> None:
    bench.by_catalogue = False
    assert bench.do({"wal_buffers": -1}).state == "applied"
    assert bench.do({"wal_buffers": -1}, id="rec_2").state == "applied"
    assert bench.control.restarts == 1


@pytest.mark.parametrize(
    ("settings", "more", "code"),
    [
        ({"work_mem": 8192, "no_such_setting": 1}, {}, "unknown_setting"),
        ({"work_mem": "plenty"}, {}, "invalid_value"),
        ({"shared_buffers": 4 << 20}, {}, "memory_budget_exceeded"),
        ({"shared_buffers": 32768}, {"restart_allowed": False}, "restart_not_allowed"),
    ],
)
def test_a_directive_is_refused_before_the_first_statement(
    bench: Directed, settings: dict[str, Any], more: dict[str, Any], code: str
) -> None:
    outcome = bench.do(settings, **more)
    assert (outcome.state, outcome.code) == ("refused", code)
    assert bench.engine.statements == []
    assert outcome.message


def test_an_expired_directive_is_refused(bench: Directed) -> None:
    outcome = bench.do({"work_mem": 8192}, expires_at=bench.clock.now())
    assert outcome.code == "expired"


@pytest.mark.parametrize(("mode", "code"), [("observe", "mode_forbids"), ("reload_only", "restart_not_allowed")])
def test_the_agents_own_file_limits_what_it_does(bench: Directed, mode: Mode, code: str) -> None:
    bench.mode = mode
    assert bench.do({"shared_buffers": 32768}).code == code


def test_a_restart_is_refused_outside_the_maintenance_windows(bench: Directed) -> None:
    bench.mode = "restart_in_window"
    refused = bench.do({"shared_buffers": 32768, "work_mem": 8192})
    assert (refused.code, "no maintenance window is set" in refused.message) == ("outside_maintenance_window", True)
    bench.windows = (MaintenanceWindow(("sat",), "12:00", 60),)  # the test's clock stands on a Sunday
    refused = bench.do({"shared_buffers": 32768}, id="rec_2")
    assert (refused.code, "2026-03-07T12:00" in refused.message) == ("outside_maintenance_window", True)
    assert bench.engine.statements == []
    assert bench.do({"work_mem": 8192}, id="rec_3").state == "applied"


def test_a_restart_is_carried_out_inside_one(bench: Directed) -> None:
    bench.mode, bench.windows = "restart_in_window", (ALWAYS,)
    outcome = bench.do({"shared_buffers": 32768})
    assert (outcome.state, outcome.restarted, bench.control.restarts) == ("applied", True, 1)


def test_an_operators_rollback_waits_for_no_window(bench: Directed) -> None:
    bench.mode, bench.windows = "restart_in_window", (ALWAYS,)
    assert bench.do({"shared_buffers": 32768}).state == "applied"
    bench.windows = ()
    assert bench.do({"shared_buffers": 16384}, id="rec_2", restore=True, rollback=True).state == "applied"


def test_settings_for_another_server_are_refused(bench: Directed) -> None:
    now = identity(bench.engine.server(HOST))
    refused = bench.do({"work_mem": 8192}, expects=replace(now, engine_version="15.2"))
    assert (refused.code, "its version was 15.2 and is 16.4" in refused.message) == ("server_changed", True)
    assert bench.do({"work_mem": 8192}, id="rec_2", expects=now).state == "applied"


def test_a_paused_agent_refuses_and_a_resumed_one_does_not(bench: Directed) -> None:
    bench.state.pause()
    assert bench.do({"work_mem": 8192}).code == "paused"
    bench.state.resume()
    assert bench.do({"work_mem": 8192}, id="rec_2").state == "applied"


def test_a_standby_is_left_alone(bench: Directed) -> None:
    bench.engine.role = "standby"
    assert bench.do({"work_mem": 8192}).code == "not_primary"


def test_a_shadowed_setting_is_refused_and_named(bench: Directed) -> None:
    bench.engine.settings["work_mem"] = replace(bench.engine.settings["work_mem"], shadowed="the command line")
    outcome = bench.do({"work_mem": 8192})
    assert outcome.code == "setting_shadowed"
    assert "the command line" in outcome.message


def test_a_missing_privilege_is_refused_with_the_grant_to_paste(bench: Directed) -> None:
    bench.engine.ungranted = {"work_mem"}
    outcome = bench.do({"work_mem": 8192})
    assert outcome.code == "insufficient_privilege"
    assert "GRANT it;" in outcome.message


def test_a_restart_without_a_configured_command_is_refused(bench: Directed) -> None:
    bench.control = FakeControl(bench.engine, bench.clock, allowed=False)
    assert bench.do({"shared_buffers": 32768}).code == "restart_not_allowed"


def test_what_may_lose_commits_moves_only_where_the_agents_own_file_says_so(bench: Directed) -> None:
    refused = bench.do({"synchronous_commit": "off", "work_mem": 8192}, restore=True)
    assert (refused.state, refused.code) == ("refused", "durability_not_allowed")
    assert "synchronous_commit; agent.durability = true" in refused.message
    assert bench.engine.statements == []
    bench.durability = True
    assert bench.do({"synchronous_commit": "off"}, id="rec_2").state == "applied"


def test_a_way_back_to_what_may_lose_commits_is_open_where_it_was_so_before(bench: Directed) -> None:
    bench.durability = True
    bench.engine.settings["synchronous_commit"] = replace(bench.engine.settings["synchronous_commit"], value="off")
    assert bench.do({"synchronous_commit": "on"}).state == "applied"
    bench.durability = False
    assert bench.do({"synchronous_commit": "local"}, id="rec_2", restore=True).code == "durability_not_allowed"
    assert bench.do({"synchronous_commit": "off"}, id="rec_3", restore=True).state == "applied"


def test_a_way_back_is_not_refused_for_memory(bench: Directed) -> None:
    large = replace(bench.engine.settings["shared_buffers"], value=str(4 << 20))
    bench.engine.settings["shared_buffers"] = bench.engine.defaults["shared_buffers"] = large
    assert bench.do({"shared_buffers": 16384}).state == "applied"
    assert bench.do({"shared_buffers": 4 << 20}, id="rec_2").state == "applied"


def test_a_statement_that_the_server_refuses_takes_the_earlier_ones_back(bench: Directed) -> None:
    bench.engine.refuses = {"jit"}
    before = bench.active()
    outcome = bench.do({"work_mem": 8192, "jit": "off"})
    bench.engine.refuses = set()
    assert (outcome.state, outcome.code) == ("reverted", "invalid_value")
    assert bench.active() == before
    assert bench.engine.file == {}


def test_a_value_that_does_not_become_active_is_taken_back(bench: Directed) -> None:
    bench.engine.ignored = {"work_mem"}
    outcome = bench.do({"work_mem": 8192, "jit": "off"})
    assert (outcome.state, outcome.code) == ("reverted", "not_active_after_apply")
    assert outcome.active == {"work_mem": 4096, "jit": "on"}


def test_a_server_that_does_not_come_back_gets_its_old_file_and_is_started(bench: Directed) -> None:
    bench.engine.path.write_text("max_wal_size = '2GB'\n")
    bench.engine.take_file(restarted=True)
    before, content = bench.active(), bench.engine.path.read_bytes()
    bench.engine.breaks = lambda file: "shared_buffers" in file
    outcome = bench.do({"shared_buffers": 32768, "work_mem": 8192})
    assert (outcome.state, outcome.code) == ("reverted", "did_not_start")
    assert bench.engine.up
    assert bench.active() == before
    assert bench.engine.path.read_bytes() == content


def test_a_restart_command_that_leaves_the_server_alone_says_nothing_of_the_configuration(bench: Directed) -> None:
    def no_right() -> None:
        raise NotRestarted("systemctl ended with 1 and the server was not restarted: access denied")

    bench.control.restart = no_right  # type: ignore[method-assign]
    outcome = bench.do({"shared_buffers": 32768})
    assert (outcome.state, outcome.code) == ("reverted", "internal_error")
    assert "access denied" in outcome.message
    assert bench.engine.file == {}


def test_a_server_that_cannot_be_read_after_a_change_gets_it_taken_back(bench: Directed) -> None:
    restart = bench.control.restart

    def unreadable_from_now_on() -> None:
        restart()
        bench.engine.unreadable = True

    bench.control.restart = unreadable_from_now_on  # type: ignore[method-assign]
    outcome = bench.do({"shared_buffers": 32768})
    assert (outcome.state, outcome.code) == ("reverted", "internal_error")
    assert bench.engine.file == {}


def test_an_undo_that_is_barred_is_tried_again_until_the_server_is_back(bench: Directed) -> None:
    bench.engine.breaks = lambda file: True
    outcome = bench.do({"shared_buffers": 32768})
    assert (outcome.state, outcome.code) == ("failed", "did_not_start")
    with pytest.raises(DidNotStart):
        bench.executor().recover()
    bench.engine.breaks = lambda file: False
    recovered = bench.executor().recover()
    assert recovered is not None
    assert (recovered.state, recovered.code) == ("reverted", "did_not_start")
    assert bench.executor().recover() is None
    assert bench.engine.settings["shared_buffers"].value == "16384"


def test_an_undo_that_is_barred_waits_while_the_agent_is_paused(bench: Directed) -> None:
    bench.engine.breaks = lambda file: True
    bench.do({"shared_buffers": 32768})
    bench.engine.breaks = lambda file: False
    starts = bench.control.starts
    bench.state.pause()
    with pytest.raises(DidNotStart, match="paused"):
        bench.executor().recover()
    assert (bench.engine.up, bench.control.starts) == (False, starts)
    bench.state.resume()
    recovered = bench.executor().recover()
    assert recovered is not None
    assert (recovered.state, bench.engine.up) == ("reverted", True)


def test_a_crash_recovery_during_an_undo_is_waited_for_at_every_attempt(bench: Directed) -> None:
    bench.engine.breaks = lambda file: True
    bench.do({"shared_buffers": 32768})
    starts, bench.engine.coming_up = bench.control.starts, True
    for _ in range(5):
        with pytest.raises(DidNotStart, match="does not accept connections"):
            bench.executor().recover()
    assert bench.control.starts == starts
    bench.engine.breaks = lambda file: False
    bench.engine.start()
    recovered = bench.executor().recover()
    assert recovered is not None
    assert (recovered.state, bench.control.starts) == ("reverted", starts)


@pytest.mark.parametrize("down", [False, True])
def test_an_agent_killed_while_restarting_goes_back_at_its_next_start(bench: Directed, down: bool) -> None:
    before = bench.active()
    bench.control.killed = Killed()
    with pytest.raises(Killed):
        bench.do({"shared_buffers": 32768, "work_mem": 8192})
    bench.control.killed = None
    bench.engine.up = not down
    recovered = bench.executor().recover()
    assert recovered is not None
    assert recovered.state == "reverted"
    assert recovered.directive == "rec_1"
    assert bench.active() == before
    assert bench.engine.file == {}


def test_the_baseline_is_what_was_there_before_the_first_change(bench: Directed) -> None:
    bench.do({"work_mem": 8192})
    bench.do({"work_mem": 16384}, id="rec_2")
    baseline = stored_snapshots(bench.state, BASELINE)
    assert baseline is not None
    assert active_in(baseline)["work_mem"] == "4096"


def test_a_way_back_leaves_no_line_in_the_file_where_there_was_none(bench: Directed) -> None:
    bench.do({"work_mem": 8192, "shared_buffers": 32768})
    outcome = bench.do({"work_mem": 4096, "shared_buffers": 16384}, id="rec_2", restore=True)
    assert outcome.state == "applied"
    assert bench.engine.file == {}
    assert bench.active()["shared_buffers"] == "16384"


def test_a_way_back_sets_the_value_where_the_former_words_mean_another_by_now(bench: Directed) -> None:
    bench.do({"work_mem": 8192})
    bench.engine.defaults["work_mem"] = replace(bench.engine.defaults["work_mem"], value="16384")
    outcome = bench.do({"work_mem": 4096}, id="rec_2", restore=True)
    assert outcome.state == "applied"
    assert bench.engine.file == {"work_mem": "4MB"}
    assert bench.active()["work_mem"] == "4096"


def test_a_way_back_to_another_value_than_the_baselines_sets_it(bench: Directed) -> None:
    bench.do({"work_mem": 8192})
    bench.do({"work_mem": 16384}, id="rec_2")
    bench.do({"work_mem": 8192}, id="rec_3", restore=True)
    assert bench.engine.file == {"work_mem": "8MB"}
