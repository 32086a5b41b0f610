"""The loop under a clock that the test moves, against a server and a service in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from lutra_agent.runtime.local_database import ASSUMED
from lutra_agent.state.snapshot import LAST_KNOWN_GOOD, active_in, stored_snapshots
from lutra_models.maintenance import WEEKDAYS, MaintenanceWindow
from lutra_models.server import Host
from lutra_models.wire import Directive, Rules

from tests.support.agent.loops import Bench, bench


@pytest.fixture
def lab(tmp_path: Path) -> Bench:
    return bench(tmp_path, "lab", with_driver=True)


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Bench]:
    return bench(tmp_path, "observe", with_driver=False)  # type: ignore[return-value]


def test_an_observing_agent_ships_one_window_per_interval(watching: Bench) -> None:
    for _ in range(3):
        watching.engine.commits += 500
        watching.loop.cycle()
    windows = [r for r in watching.line.reports if r.window]
    assert [r.metrics["database.xact_commit_per_s"] for r in windows] == [50, 50]
    assert windows[0].p99_source == "estimated"
    assert watching.clock.slept == [10, 10, 10]


def test_nothing_of_this_host_is_told_of_a_server_that_is_not_known_to_run_here(watching: Bench) -> None:
    watching.engine.here = False
    for _ in range(3):
        watching.engine.commits += 500
        watching.loop.cycle()
    told = [r.metrics for r in watching.line.reports if r.window]
    assert len(told) == 2
    assert not [name for metrics in told for name in metrics if name.startswith(("host.", "memory_", "disk_"))]
    assert watching.database.problems == ("it runs elsewhere", ASSUMED)


def test_the_hardware_of_a_server_elsewhere_is_that_of_the_agents_file(watching: Bench) -> None:
    config = watching.database.config
    watching.database.config = replace(config, agent=replace(config.agent, memory=2**29, cores=2.0))
    watching.engine.here = False
    assert watching.database.read_server().host == Host(2**29, 2.0)
    assert watching.database.problems == ("it runs elsewhere",)
    watching.engine.here = True
    assert watching.database.read_server().host.memory_bytes != 2**29


def test_settings_travel_when_they_change_or_are_asked_for(watching: Bench) -> None:
    watching.loop.cycle()
    watching.loop.cycle()
    watching.line.settings_wanted = True
    watching.loop.cycle()
    watching.line.settings_wanted = False
    watching.loop.cycle()
    assert [r.settings is not None for r in watching.line.reports] == [True, False, False, True]


def test_the_first_window_after_somebody_elses_change_is_a_warm_up(watching: Bench) -> None:
    watching.loop.cycle()
    watching.loop.cycle()
    watching.engine.settings["work_mem"] = replace(watching.engine.settings["work_mem"], value="9999")
    for _ in range(3):
        watching.loop.cycle()
    assert [r.window is not None for r in watching.line.reports] == [False, True, False, False, True]


def test_after_a_restart_the_caches_are_cold_for_a_minute(tmp_path: Path) -> None:
    live = bench(tmp_path, "restart_in_window", with_driver=False)
    live.line.rules = Rules(maintenance_windows=(MaintenanceWindow(WEEKDAYS, "00:00", 1440),))
    for _ in range(4):
        live.loop.cycle()
    live.offer({"shared_buffers": 32768})
    live.loop.cycle()
    for _ in range(9):
        live.loop.cycle()
    told = live.line.reports[live.line.reports.index(live.told()[0]) :]
    assert told[0].outcomes[0].restarted
    assert [r.window is not None for r in told] == [False] * 8 + [True]


def test_a_counter_reset_costs_what_it_counts_for_one_window_and_is_named(watching: Bench) -> None:
    problems = []
    for commits in (500, 3, 3):
        watching.engine.commits = commits
        watching.loop.cycle()
        problems.append(watching.loop.problems)
    reports = watching.line.reports
    assert [r.window is not None for r in reports] == [False, True, True]
    assert ["tps" in r.metrics for r in reports] == [False, False, True]
    assert ["p99_ms" in r.metrics for r in reports] == [False, True, True]
    assert problems == [[], ["database: xact_commit decreased from 500 to 3"], []]


def test_a_database_that_is_down_closes_the_gate_and_the_service_is_told(watching: Bench) -> None:
    watching.loop.cycle()
    watching.engine.up = False
    watching.loop.cycle()
    assert watching.loop.problems == ["connection refused"]
    assert watching.line.reports[-1].window is None
    watching.engine.up = True
    watching.loop.cycle()
    watching.loop.cycle()
    assert watching.loop.problems == []
    assert watching.line.reports[-1].window is not None


def test_reports_of_an_absent_service_arrive_later_in_order(watching: Bench) -> None:
    watching.line.away = True
    for _ in range(4):
        watching.loop.cycle()
    watching.line.away = False
    watching.loop.cycle()
    assert [r.sequence for r in watching.line.reports] == [0, 1, 2, 3, 4]


def test_a_lab_directive_is_applied_measured_and_told_in_one_report(lab: Bench) -> None:
    lab.offer({"shared_buffers": 32768}, measure=True)
    lab.loop.cycle()
    lab.loop.cycle()
    [report] = lab.told()
    assert report.outcomes[0].state == "applied"
    assert report.measures == "rec_1"
    assert (report.metrics["qps"], report.p99_source, report.p99_of) == (700, "driver", "transaction")
    assert report.metrics["database.xact_commit_per_s"] == 100
    assert report.context == {"clients": 8}


def test_a_directive_may_ask_for_several_loads_which_one_report_tells(lab: Bench) -> None:
    lab.offer({"work_mem": 8192}, measure=True, loads=["many", "few"])
    lab.loop.cycle()
    lab.loop.cycle()
    [report] = lab.told()
    assert (report.measures, report.failure, report.p99_source) == ("rec_1", None, None)
    assert (report.metrics["qps.few"], report.metrics["p99_ms.many"]) == (700, 31)
    assert report.metrics["database.xact_commit_per_s"] == 100
    assert "qps" not in report.metrics
    assert report.context == {
        "driver": "loads many, few",
        "clients.many": 16,
        "p99_of.many": "transaction",
        "clients.few": 2,
        "p99_of.few": "transaction",
    }
    assert lab.driver.runs == 0


@pytest.mark.parametrize("loads", [["few", "gone"], ["few", "many"]])
def test_a_load_that_is_not_there_or_fails_ends_the_whole_trial(lab: Bench, loads: list[str]) -> None:
    lab.loads["many"].fails = True
    lab.offer({"work_mem": 8192}, measure=True, loads=loads)
    lab.loop.cycle()
    lab.loop.cycle()
    [report] = lab.told()
    assert (report.measures, report.failure, report.metrics) == ("rec_1", "driver_failed", {})


def test_a_measured_configuration_becomes_the_last_known_good(lab: Bench) -> None:
    lab.offer({"work_mem": 8192}, measure=True)
    lab.loop.cycle()
    good = stored_snapshots(lab.state, LAST_KNOWN_GOOD)
    assert good is not None
    assert active_in(good)["work_mem"] == "8192"


def test_a_window_that_is_ended_early_is_told_as_a_bound_with_what_was_counted(lab: Bench) -> None:
    lab.offer({"work_mem": 8192}, measure=True, must_reach={"metric": "tps", "goal": "maximize", "value": 150.0})
    lab.loop.cycle()
    lab.loop.cycle()
    [report] = lab.told()
    assert report.ended_early is not None
    assert (report.ended_early.metric, report.ended_early.bound, report.ended_early.planned_s) == ("tps", 100.0, 60.0)
    assert not {"qps", "tps", "p99_ms"} & set(report.metrics)
    assert report.metrics["window_s"] == 10.0
    assert report.metrics["database.xact_commit_per_s"] == 100
    assert (report.measures, report.failure) == ("rec_1", None)
    good = stored_snapshots(lab.state, LAST_KNOWN_GOOD)
    assert good is None or active_in(good)["work_mem"] != "8192"


def test_a_window_that_comes_to_its_level_is_told_as_any_other(lab: Bench) -> None:
    lab.offer({"work_mem": 8192}, measure=True, must_reach={"metric": "tps", "goal": "maximize", "value": 50.0})
    lab.loop.cycle()
    lab.loop.cycle()
    [report] = lab.told()
    assert report.ended_early is None
    assert report.metrics["tps"] == 100.0


def test_a_failed_driver_is_told_as_a_failure_of_the_trial(lab: Bench) -> None:
    lab.driver.fails = True
    lab.offer({"work_mem": 8192}, measure=True)
    lab.loop.cycle()
    lab.loop.cycle()
    [report] = lab.told()
    assert (report.failure, report.measures, report.window) == ("driver_failed", "rec_1", None)
    assert report.outcomes[0].state == "applied"


def test_a_server_that_did_not_start_is_told_as_a_failure_of_the_trial(lab: Bench) -> None:
    lab.engine.breaks = lambda file: "shared_buffers" in file
    lab.offer({"shared_buffers": 32768}, measure=True)
    lab.loop.cycle()
    lab.loop.cycle()
    [report] = lab.told()
    assert (report.failure, report.measures) == ("did_not_start", "rec_1")
    assert report.outcomes[0].state == "reverted"
    assert lab.driver.runs == 0


def test_a_directive_that_comes_again_is_answered_again_and_not_done_again(lab: Bench) -> None:
    for _ in range(2):
        lab.offer({"work_mem": 8192}, measure=True)
        lab.loop.cycle()
    lab.loop.cycle()
    assert len(lab.told()) == 2
    assert lab.driver.runs == 1


def test_a_directive_that_was_applied_but_never_told_is_measured_when_it_comes_again(lab: Bench) -> None:
    lab.loop.cycle()
    applied = Directive.model_validate(
        {
            "id": "rec_1",
            "recommendation": "rec_1",
            "settings": {"work_mem": 8192},
            "measure": True,
            "expires_at": lab.clock.now() + timedelta(hours=1),
        }
    )
    lab.database.executor.execute(applied)
    lab.offer({"work_mem": 8192}, measure=True)
    lab.loop.cycle()
    lab.loop.cycle()
    assert [r.measures for r in lab.told()] == ["rec_1"]
    assert lab.driver.runs == 1


def test_an_observing_agent_never_asks_for_directives(watching: Bench) -> None:
    watching.offer({"work_mem": 8192})
    watching.loop.cycle()
    assert len(watching.line.offered) == 1
    assert watching.engine.statements == []
