"""An objective that cannot be served is refused with what to do, or answered with what can be served."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.live import SESSION, live

pytestmark = pytest.mark.slow


def test_a_p99_that_nothing_measures_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with live(tmp_path) as made:
        for _ in range(4):
            made.agent.send(made.agent.report(**made.agent.window(load1=0.5)))
        refused = made.service.ask("POST", f"{made.path}/sessions", SESSION)
        assert refused.status_code == 422
        told = refused.json()["detail"]
        assert "objective.metric: 'p99_ms'" in told
        assert "lutra-agent check" in told
        assert "load1" in told


def test_the_agents_own_word_on_it_is_passed_on(tmp_path: Path) -> None:
    with live(tmp_path) as made:
        problem = "pg_stat_statements must be preloaded"
        made.agent.facts = {"status": {"mode": "reload_only", "problems": [problem]}}
        for _ in range(4):
            made.agent.send(made.agent.report(**made.agent.window(load1=0.5)))
        assert problem in made.service.ask("POST", f"{made.path}/sessions", SESSION).json()["detail"]


def test_most_queries_of_a_load_that_leaves_the_server_idle_are_what_clients_ask_for(tmp_path: Path) -> None:
    idle = {"host.cpu_user_s_per_s": 0.5, "host.cpu_system_s_per_s": 0.1}
    with live(tmp_path) as made:
        made.observe(4, **idle)
        session = made.open(objective={"metric": "qps", "goal": "maximize"})
        assert session["state"] == "running"
        assert "what its clients ask for" in session["message"]
        assert "p99_ms" in session["message"]


def test_an_idle_database_shows_nothing_of_what_is_measured(tmp_path: Path) -> None:
    with live(tmp_path) as made:
        for _ in range(4):
            made.agent.send(made.agent.report(**made.agent.window(qps=0.0)))
        assert made.open()["state"] == "running"


def test_a_saturated_server_is_tuned_for_it(tmp_path: Path) -> None:
    busy = {"host.cpu_user_s_per_s": 3.2, "host.cpu_system_s_per_s": 0.7}
    with live(tmp_path) as made:
        made.observe(4, **busy)
        assert made.open(objective={"metric": "qps", "goal": "maximize"})["message"] == ""
