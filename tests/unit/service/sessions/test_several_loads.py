"""A lab session under two loads, from its opening to what it hands over; and what a session with one load says."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lutra_models import serial
from lutra_models.metrics import Objective
from lutra_service.app.jobs import recommendation_jobs

from tests.support.fakes.tasks import Document, Fakes, answer
from tests.support.service.hosted import Agent, Service, fake_executor, running

pytestmark = pytest.mark.slow

LOADS = [{"name": "few", "weight": 1.0}, {"name": "many", "weight": 1.0}]
SESSION: Document = {
    "objective": {"metric": "qps", "goal": "maximize"},
    "limits": [{"metric": "p99_ms", "at_most": 50.0}],
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 3,
    "verification_rounds": 4,
    "loads": LOADS,
    "aim": "worst",
    "seed": 1,
}
BASELINE, RULES, BEST = 4096, 8192, 16384
SEARCHED = ((BASELINE, "current"), (RULES, "rule_based"), (BEST, "improvement"))
CONTEXT = {
    "driver": "loads few, many",
    "driver.few": "pgbench",
    "clients.few": 16,
    "p99_of.few": "statement",
    "driver.many": "pgbench",
    "clients.many": 64,
    "p99_of.many": "transaction",
}
WOBBLE = (1.0, 0.99, 1.01, 1.0, 1.02, 0.98, 0.99)
Speeds = dict[int, tuple[float, float]]
BOTH_GAIN: Speeds = {BASELINE: (1000.0, 300.0), RULES: (1300.0, 390.0), BEST: (2000.0, 500.0)}
ONE_LOSES: Speeds = {BASELINE: (1000.0, 300.0), RULES: (1200.0, 360.0), BEST: (3000.0, 270.0)}


class Search(Fakes):
    """Tries the baseline, a rule-based start and one more, and names the last one as its best."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def recommend(self, request: Any) -> Document:
        self.asked.append(request)
        work_mem, origin = SEARCHED[min(request["entropy"][1], len(SEARCHED)) - 1]
        return answer({**request["history"]["current"], "work_mem": work_mem}, origin, 0)

    def handover(self, request: Any) -> Document:
        self.asked.append(request)
        if "verification" in request:
            return super().handover(request)
        return answer({**request["history"]["current"], "work_mem": BEST}, "handover", 0)


@contextmanager
def lab(folder: Path, fakes: Search | None = None) -> Iterator[tuple[Service, Agent]]:
    with running(folder, executor=fake_executor(fakes or Search())) as service:
        agent = service.agent(service.database())
        agent.facts = {"status": {"mode": "lab", "loads": ["few", "many"]}, "context": CONTEXT}
        agent.send()
        yield service, agent


def begin(service: Service, agent: Agent, **more: object) -> str:
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", {**SESSION, **more})
    return f"/v1/sessions/{session['id']}"


def go_on(service: Service, agent: Agent, path: str, speeds: Speeds, turns: int = 60) -> Document:
    for turn in range(turns):
        directive = service.next_directive(agent, path)
        if directive is None:
            break
        assert directive["loads"] == ["few", "many"]
        few, many = (v * WOBBLE[turn % len(WOBBLE)] for v in speeds[int(directive["settings"]["work_mem"])])
        agent.carry_out(directive, **{"qps.few": few, "qps.many": many, "p99_ms.few": 3.0, "p99_ms.many": 30.0})
    found: Document = service.take("GET", path)
    return found


def test_what_gains_under_every_load_is_handed_over_with_each_loads_gain(tmp_path: Path) -> None:
    with lab(tmp_path) as (service, agent):
        session = go_on(service, agent, begin(service, agent), BOTH_GAIN)
        assert (session["state"], session["trials_done"]) == ("completed", 3)
        assert (session["loads"], session["aim"]) == (LOADS, "worst")
        best = next(f for f in session["verification"]["finalists"] if f["name"] == "best")
        assert best["gains"]["baseline"]["median"] == pytest.approx(500 / 300 - 1, rel=0.05)
        by_load = best["gains_by_load"]["baseline"]
        assert by_load["few"]["median"] == pytest.approx(1.0, rel=0.05)
        assert by_load["many"]["median"] == pytest.approx(500 / 300 - 1, rel=0.05)
        assert "qps under the worst of few, many" in session["message"]
        under = "under few (at 16 clients) and many (at 64 clients)"
        assert session["measured_under"] == f"measured {under}; it was not measured at other numbers of clients"
        handover = service.take("GET", f"/v1/recommendations/{session['handover']}")
        assert handover["configuration"]["work_mem"] == BEST


@pytest.mark.parametrize(("aim", "verdict"), [("worst", "rule_based"), ("weighted", "best")])
def test_the_aim_decides_about_what_loses_under_one_load(tmp_path: Path, aim: str, verdict: str) -> None:
    with lab(tmp_path) as (service, agent):
        session = go_on(service, agent, begin(service, agent, aim=aim), ONE_LOSES)
        assert session["verification"]["verdict"] == verdict


def test_a_trial_keeps_what_each_load_read_and_shows_the_aim(tmp_path: Path) -> None:
    with lab(tmp_path) as (service, agent):
        path = begin(service, agent, verification_rounds=0)
        session = go_on(service, agent, path, ONE_LOSES)
        trials = service.take("GET", f"{path}/trials")["items"]
        first, _, third = (t["measured"] for t in trials)
        assert first["aim.qps"] == pytest.approx(1.0)
        assert third["aim.qps"] == pytest.approx(0.9 * 1.01)
        assert (third["qps.few"], third["p99_ms.many"]) == (pytest.approx(3000 * 1.01), 30.0)
        assert (third["p99_of.few"], third["p99_of.many"], third["p99_source"]) == (
            "statement",
            "transaction",
            "driver",
        )
        assert session["incumbent"] == trials[1]["recommendation"], "the one that gains under both"
        table = csv.DictReader(io.StringIO(service.ask("GET", f"{path}/trials?format=csv").text))
        assert [float(row["measured.aim.qps"]) for row in table] == [t["measured"]["aim.qps"] for t in trials]


def test_recommend_sees_one_number_and_what_each_load_read(tmp_path: Path) -> None:
    with lab(tmp_path) as (service, agent):
        path = begin(service, agent)
        go_on(service, agent, path, ONE_LOSES, turns=3)
        history = serial.history_from_dict(service.take("GET", f"{path}/history"))
        assert history.objective == Objective("aim.qps", "maximize")
        assert [str(limit) for limit in history.limits] == ["p99_ms.few ≤ 50", "p99_ms.many ≤ 50"]
        assert history.aim is not None
        assert (history.aim.over, history.aim.loads) == ("worst", ("few", "many"))
        aims = [o.metrics["aim.qps"] for o in history.observations]
        assert aims == pytest.approx([1.0, 1.2 * 0.99, 0.9 * 1.01])
        assert all({"qps.few", "qps.many"} <= set(o.metrics) for o in history.observations)
        assert serial.history_from_dict(serial.history_to_dict(history)).key == history.key


def test_a_handover_is_computed_again_from_what_is_stored(tmp_path: Path) -> None:
    fakes = Search()
    with lab(tmp_path, fakes) as (service, agent):
        session = go_on(service, agent, begin(service, agent), BOTH_GAIN)
        job, stored = service.store.read(lambda u: recommendation_jobs.stored_answer(u, session["handover"]))
        again = Search().handover(job.payload)
        assert (again["configuration"], again["origin"]) == (stored["configuration"], stored["origin"])


def test_a_limit_that_one_load_breaks_costs_a_trial_the_lead(tmp_path: Path) -> None:
    with lab(tmp_path) as (service, agent):
        path = begin(service, agent, limits=[{"metric": "p99_ms.many", "at_most": 20.0}], verification_rounds=0)
        assert go_on(service, agent, path, BOTH_GAIN)["incumbent"] is None


def test_a_trial_that_lacks_a_load_has_no_aim(tmp_path: Path) -> None:
    with lab(tmp_path) as (service, agent):
        path = begin(service, agent, max_trials=20)
        for _ in range(5):
            agent.carry_out(agent.next_directive(), **{"qps.few": 1000.0})
        found = service.take("GET", path)
        assert (found["state"], found["trials_done"]) == ("paused", 5)
        assert found["message"] == "the last 5 trials had no reading of aim.qps; the last one: aim.qps was not measured"


def test_an_agent_whose_file_lost_a_load_pauses_the_session_before_it_tries(tmp_path: Path) -> None:
    with lab(tmp_path) as (service, agent):
        path = begin(service, agent)
        agent.facts = {"status": {"mode": "lab", "loads": ["few"]}}
        agent.send()
        found = service.take("GET", path)
        assert (found["state"], found["trials_done"]) == ("paused", 0)
        assert "has no load 'many'; its file has few" in found["message"]
        agent.facts["status"]["loads"] = ["many", "few"]
        agent.send()
        assert service.take("POST", f"{path}/resume")["state"] == "running"


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"loads": [*LOADS, {"name": "crowd"}]}, "has no load 'crowd'; its file has few, many"),
        ({"loads": [LOADS[0], LOADS[0]]}, "each load once"),
        ({"loads": [{"name": "few", "weight": 0}]}, "greater than 0"),
        ({"loads": [{"name": "few.qps"}]}, "pattern"),
        ({"aim": "best"}, "weighted"),
        ({"mode": "reload_only", "approval": "manual"}, "mode lab"),
        ({"objective": {"metric": "walks", "goal": "maximize"}}, "objective.metric under few: 'walks.few'"),
    ],
)
def test_a_session_that_cannot_be_is_refused_with_the_reason(tmp_path: Path, more: Document, complaint: str) -> None:
    with lab(tmp_path) as (service, agent):
        response = service.ask("POST", f"/v1/databases/{agent.database}/sessions", {**SESSION, **more})
        assert response.status_code == 422
        assert complaint in response.text


def test_a_session_without_loads_asks_for_none_and_says_at_how_many_clients_it_measured(tmp_path: Path) -> None:
    with lab(tmp_path) as (service, agent):
        path = begin(service, agent, loads=[], limits=[], verification_rounds=0)
        found = service.take("GET", path)
        assert (found["loads"], found["aim"], found["measured_under"]) == ([], None, None)
        load = {"driver": "pgbench", "script": "tpcb-like", "clients": 16, "threads": 2, "rate": 0.0}
        for clients, rate in ((16, 0.0), (16, 0.0), (16, 0.0), (64, 250.0)):
            agent.facts = {"context": {**load, "clients": clients, "rate": rate}}
            directive = agent.next_directive()
            assert "loads" not in directive
            agent.carry_out(directive)
        found = service.take("GET", path)
        assert (found["state"], found["message"]) == ("completed", "")
        both = "at 16 clients of tpcb-like, and at 64 clients of tpcb-like, 250 per second"
        assert found["measured_under"] == f"measured {both}; it was not measured at other numbers of clients"


def test_a_rate_that_is_a_text_is_told_as_it_is(tmp_path: Path) -> None:
    with lab(tmp_path) as (service, agent):
        path = begin(service, agent, loads=[], limits=[], max_trials=1, verification_rounds=0)
        agent.facts = {"context": {"clients": 16, "rate": "as fast as it goes"}}
        for _ in range(2):
            agent.carry_out(agent.next_directive())
        assert "at 16 clients, as fast as it goes per second" in service.take("GET", path)["measured_under"]


def test_a_load_of_ones_own_has_no_number_of_clients(tmp_path: Path) -> None:
    with lab(tmp_path) as (service, agent):
        path = begin(service, agent, loads=[], limits=[], max_trials=1, verification_rounds=0)
        agent.facts = {"context": {"driver": "command", "command": "replay.py"}}
        for _ in range(2):
            agent.carry_out(agent.next_directive())
        told = service.take("GET", path)["measured_under"]
        assert told == "measured under the load of replay.py; it was not measured under other loads"
