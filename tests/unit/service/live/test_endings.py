"""A session ends on the configuration that it says it ends on, and says so where a guard takes that away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.service.live import live

pytestmark = pytest.mark.slow

MORE, LESS = {"work_mem": 8192}, {"work_mem": 4096}


def test_a_return_to_the_baseline_is_not_watched_and_a_new_experiment_is(tmp_path: Path) -> None:
    with live(tmp_path, MORE, LESS) as made:
        made.observe()
        made.open()
        tried = made.ask()
        made.decide(tried["id"], "approve")
        experiment = made.agent.directive()
        assert experiment is not None
        assert (experiment["restore"], experiment["rollback"]) == (False, False)
        made.carry_out(tried["id"])
        back = made.ask()
        made.decide(back["id"], "approve")
        directive = made.agent.directive()
        assert directive is not None
        assert (directive["restore"], directive["rollback"]) == (True, True)


def test_a_return_is_not_watched_and_what_only_read_better_is(tmp_path: Path) -> None:
    with live(tmp_path, MORE, {"work_mem": 16384}, MORE) as made:
        made.observe()
        made.open()
        for p99 in (8.0, 9.0, 8.0):
            made_now = made.ask()
            made.decide(made_now["id"], "approve")
            directive = made.agent.directive()
            assert directive is not None
            assert directive["rollback"] is False
            made.carry_out(made_now["id"], p99_ms=p99)
        made.advisor.wishes, made.advisor.origin = [{"work_mem": 16384}], "return"
        made.decide(made.ask()["id"], "approve")
        directive = made.agent.directive()
        assert directive is not None
        assert directive["rollback"] is True


def test_a_session_says_when_a_guard_takes_away_what_it_ended_on(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        made.observe()
        made.open(max_trials=1)
        id_ = made.ask()["id"]
        made.decide(id_, "approve")
        made.carry_out(id_, qps=950.0)
        last = made.ask()
        made.service.until(f"/v1/recommendations/{last['id']}", lambda r: r["state"] == "applied")
        for _ in range(5):
            made.window(qps=950.0)
        assert made.session["state"] == "completed"
        made.revert(id_, LESS, "p99: p99_ms is 60 for 30 s, bound 25")
        session = made.session
        assert session["state"] == "undone"
        assert id_ in session["message"]
        assert "p99_ms is 60" in session["message"]


def test_a_return_that_needs_a_restart_keeps_to_the_windows_of_the_agents_own_file(tmp_path: Path) -> None:
    with live(tmp_path, mode="lab") as made:
        made.observe()
        made.open(mode="lab")
        made.agent.mode = "restart_in_window"
        made.agent.send()
        windows = [{"weekdays": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "start": "00:00", "minutes": 1440}]
        made.service.take("PUT", f"{made.path}/maintenance-windows", {"windows": windows})
        for buffers in ("256MB", "128MB"):
            wanted = {"settings": {"shared_buffers": buffers}, "approve": True}
            id_ = made.service.take("POST", f"{made.path}/recommendations", wanted)["id"]
            directive = made.agent.directive()
            assert directive is not None
            assert directive["rollback"] is False
            made.agent.apply(directive["settings"])
            made.agent.send(made.agent.report(outcomes=[made.agent.outcome(directive, "applied")]))
            for _ in range(4):
                made.window()
            assert made.look(id_)["state"] == "confirmed"
