"""An objective that cannot be served is refused with what to do, or answered with what can be served."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from lutra_models.server import ServerSetting

from tests.support.service.live import SESSION, Live, live

pytestmark = pytest.mark.slow


UNREAD = {"load1": 0.5}
LIMITS = [{"metric": "p99_ms", "at_most": 100.0}]


def test_a_p99_that_nothing_measures_is_no_reason_to_refuse_a_session_and_one_for_a_limit(tmp_path: Path) -> None:
    with live(tmp_path) as made:
        for _ in range(4):
            made.agent.send(made.agent.report(**made.agent.window(**UNREAD)))
        limited = {**SESSION, "objective": {"metric": "load1", "goal": "minimize"}, "limits": LIMITS}
        refused = made.service.ask("POST", f"{made.path}/sessions", limited)
        assert refused.status_code == 422
        told = refused.json()["detail"]
        assert "limits.0.metric: 'p99_ms' is not measured on" in told
        assert "lutra-agent check" in told
        assert made.open()["state"] == "running"


def test_the_agents_own_word_on_it_is_passed_on(tmp_path: Path) -> None:
    with live(tmp_path) as made:
        problem = "pg_stat_statements must be preloaded"
        made.agent.facts = {"status": {"mode": "reload_only", "problems": [problem]}}
        before(made, 4, **UNREAD)
        limited = {**SESSION, "limits": LIMITS}
        assert problem in made.service.ask("POST", f"{made.path}/sessions", limited).json()["detail"]
        made.open()
        made.ask()
        assert problem in unread(made)


def test_most_queries_of_a_load_that_leaves_the_server_idle_are_what_clients_ask_for(tmp_path: Path) -> None:
    idle = {"host.cpu_user_s_per_s": 0.5, "host.cpu_system_s_per_s": 0.1}
    with live(tmp_path) as made:
        made.observe(4, **idle)
        session = made.open(objective={"metric": "qps", "goal": "maximize"})
        assert session["state"] == "running"
        assert "is limited by the clients" in session["message"]
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


WAITING = {"qps": 0.0, "tps": 0.0, "activity.waiting_standby": 3.0, "activity.longest_wait_for_standby_s": 40.0}
WAITING |= {"replication.synchronous": 0.0}


def unread(made: Live) -> str:
    """What the worker was told of it."""
    told: str = made.advisor.asked[-1]["evidence"]["unread"]
    return told


def before(made: Live, count: int, **metrics: float) -> None:
    """Windows that end about now."""
    made.agent.clock -= timedelta(seconds=10 * count)
    windows(made, count, **metrics)


def windows(made: Live, count: int, **metrics: float) -> None:
    for _ in range(count):
        made.agent.send(made.agent.report(**made.agent.window(**metrics)))


@pytest.mark.parametrize(
    ("metrics", "why"),
    [
        ({"qps": 0.0, "tps": 0.0}, "no request of a client finished in the newest 3 windows (qps 0, tps 0)"),
        (
            {"qps": 9.0, "tps": 4.0, "activity.connections": 5.0},
            "a window of 9 s has 36 transactions, but a sampled p99 needs 100; agent.interval_s = 40",
        ),
        ({"qps": 900.0, "tps": 300.0}, "the newest 3 windows have none, at 900 qps, 300 tps; `lutra-agent check`"),
        ({"qps": 9.0, "tps": 4.0}, "the newest 3 windows have none, at 9 qps, 4 tps; `lutra-agent check`"),
    ],
    ids=["no traffic", "too few", "no source", "no source that samples"],
)
def test_where_the_objective_is_not_read_it_says_why_and_proposes_all_the_same(
    tmp_path: Path, metrics: dict[str, float], why: str
) -> None:
    with live(tmp_path, {"work_mem": 8192}) as made:
        before(made, 3, **metrics)
        made.open()
        assert [c["setting"] for c in made.ask()["changes"]] == ["work_mem"]
        assert unread(made).startswith(f"p99_ms is not read: {why}")
        assert "no gain in p99_ms is predicted" in unread(made)
        assert "what is missing" not in unread(made)


def test_an_objective_that_some_windows_have_is_waited_for_a_little_longer(tmp_path: Path) -> None:
    with live(tmp_path, {"work_mem": 8192}) as made:
        made.agent.clock -= timedelta(seconds=20)
        made.observe(1)
        windows(made, 2, qps=900.0)
        made.open()
        made.ask(waits=False)
        told = made.session["message"]
        assert told == (
            "observing: 3 of 5 windows under the active settings, 2 of them without p99_ms; about 18 s more, "
            "then it proposes"
        )
        windows(made, 1, qps=900.0)
        assert "3 of them without p99_ms; about 18 s more" in made.session["message"]
        windows(made, 2, qps=900.0)
        made.service.until(f"{made.path}/recommendations?state=proposed", lambda r: len(r["items"]) == 1)
        assert unread(made).startswith("p99_ms is read in 1 of the newest 6 windows: ")


def test_an_outage_is_the_first_thing_that_is_said_whatever_the_session_is_at(tmp_path: Path) -> None:
    with live(tmp_path) as made:
        made.agent.settings["synchronous_standby_names"] = ServerSetting("dr1", "", "string")
        before(made, 1, **WAITING)
        made.open()
        made.ask(waits=False)
        first, second = made.session["message"].split("\n")
        assert first.startswith("Outage: Sessions that wait for a synchronous standby to confirm their commit: 3")
        assert second.startswith("observing: 1 of 3 windows under the active settings, 1 of them without")
        windows(made, 2, **WAITING)
        made.service.until(f"/v1/sessions/{made.session_id}", lambda s: s["state"] == "settled")
        assert made.session["message"].split("\n")[0] == first
        assert unread(made).startswith("p99_ms is not read: no request of a client finished")
        known = {"because": "dr1 is being rebuilt", "until": (datetime.now(UTC) + timedelta(days=1)).isoformat()}
        made.service.take("PUT", f"{made.path}/symptoms/accepted/commits_wait_for_standby", known)
        windows(made, 1, **WAITING)
        assert "Outage" not in made.session["message"]


def test_a_settled_session_looks_again_once_the_objective_is_read(tmp_path: Path) -> None:
    with live(tmp_path) as made:
        before(made, 3, load1=0.5)
        made.open()
        made.ask()
        assert made.session["state"] == "settled"
        windows(made, 2, load1=0.5)
        assert len(made.advisor.asked) == 1
        windows_with_p99 = {"load1": 0.5, "p99_ms": 12.0}
        windows(made, 3, **windows_with_p99)
        made.service.until(f"/v1/sessions/{made.session_id}", lambda s: len(made.advisor.asked) == 2)
