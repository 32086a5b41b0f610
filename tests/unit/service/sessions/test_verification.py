"""The end of a lab session: finalists measured in turns, by an agent whose server is a table of speeds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from lutra_models.errors import IllegalTransition
from lutra_service.app.jobs import recommendation_jobs

from tests.support.fakes.tasks import Document, Fakes, answer
from tests.support.service.hosted import Agent, Service, fake_executor, running, some_minutes_later

pytestmark = pytest.mark.slow

SESSION = {
    "objective": {"metric": "qps", "goal": "maximize"},
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 3,
    "seed": 1,
    "verification_rounds": 6,
}
BASELINE, RULES, BEST = 4096, 8192, 16384
SEARCHED = ((BASELINE, "current"), (RULES, "rule_based"), (BEST, "improvement"))
WOBBLE = (1.0, 0.99, 1.01, 1.0, 1.02, 0.98, 0.99)
Speeds = dict[int, float]
SPEEDS: Speeds = {BASELINE: 1000.0, RULES: 1300.0, BEST: 1700.0}


class Search(Fakes):
    """Tries the baseline, a rule-based start and one more, and names the last one as its best."""

    def recommend(self, request: Any) -> Document:
        work_mem, origin = SEARCHED[min(request["entropy"][1], len(SEARCHED)) - 1]
        return answer({**request["history"]["current"], "work_mem": work_mem}, origin, 0)

    def handover(self, request: Any) -> Document:
        if "verification" in request:
            return super().handover(request)
        return answer({**request["history"]["current"], "work_mem": BEST}, "handover", 0)


@contextmanager
def lab(folder: Path) -> Iterator[tuple[Service, Agent]]:
    with running(folder, executor=fake_executor(Search())) as service:
        yield service, service.agent(service.database())


def begin(service: Service, agent: Agent, **more: object) -> str:
    agent.send()
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", {**SESSION, **more})
    return f"/v1/sessions/{session['id']}"


def measure(agent: Agent, speeds: Speeds, turn: int, directive: Document) -> None:
    speed = speeds[int(directive["settings"]["work_mem"])]
    agent.carry_out(directive, qps=speed * WOBBLE[turn % len(WOBBLE)], p99_ms=10.0)


def go_on(service: Service, agent: Agent, path: str, speeds: Speeds, turns: int = 60) -> Document:
    """Until the session ends, or so many directives were carried out."""
    for turn in range(turns):
        directive = service.next_directive(agent, path)
        if directive is None:
            break
        measure(agent, speeds, turn, directive)
    found: Document = service.take("GET", path)
    return found


@contextmanager
def verifying(folder: Path, readings: int = 0) -> Iterator[tuple[Service, Agent, str]]:
    """A session after its trials and so many readings of finalists, with its path."""
    with lab(folder) as (service, agent):
        path = begin(service, agent)
        go_on(service, agent, path, SPEEDS, turns=len(SEARCHED) + readings)
        yield service, agent, path


def handed_over(service: Service, session: Document) -> Document:
    found: Document = service.take("GET", f"/v1/recommendations/{session['handover']}")
    return found


def test_what_is_ahead_with_certainty_is_handed_over_with_its_gain(tmp_path: Path) -> None:
    with lab(tmp_path) as (service, agent):
        session = go_on(service, agent, begin(service, agent), SPEEDS)
        assert (session["state"], session["trials_done"]) == ("completed", 3)
        told = session["verification"]
        assert told["verdict"] == "best"
        assert session["message"] == told["sentence"]
        by_name = {f["name"]: f for f in told["finalists"]}
        gain = by_name["best"]["gains"]["rule_based"]
        assert 0 < gain["low"] < 1700 / 1300 - 1 < gain["high"]
        assert all(len(f["readings"]) >= 3 for f in told["finalists"])
        assert [by_name[n]["changed_settings"] for n in ("baseline", "rule_based", "best")] == [0, 1, 1]
        handover = handed_over(service, session)
        assert (handover["kind"], handover["origin"], handover["state"]) == ("handover", "handover", "confirmed")
        assert handover["configuration"]["work_mem"] == BEST


def test_the_luckiest_trial_is_not_handed_over_where_the_rules_hold(tmp_path: Path) -> None:
    with lab(tmp_path) as (service, agent):
        path = begin(service, agent)
        go_on(service, agent, path, {BASELINE: 1000.0, RULES: 1300.0, BEST: 2000.0}, turns=3)
        session = go_on(service, agent, path, {BASELINE: 1000.0, RULES: 1300.0, BEST: 1290.0})
        assert session["verification"]["verdict"] == "rule_based"
        assert handed_over(service, session)["configuration"]["work_mem"] == RULES


def test_where_nothing_is_ahead_the_baseline_is_made_active_again(tmp_path: Path) -> None:
    with lab(tmp_path) as (service, agent):
        session = go_on(service, agent, begin(service, agent), {BASELINE: 1000.0, RULES: 1000.0, BEST: 1000.0})
        assert session["verification"]["verdict"] == "baseline"
        assert handed_over(service, session)["origin"] == "baseline"
        assert agent.settings["work_mem"].value == str(BASELINE)


def test_a_finalist_that_does_not_start_is_out(tmp_path: Path) -> None:
    with verifying(tmp_path) as (service, agent, path):
        directive = agent.next_directive()
        assert directive["settings"]["work_mem"] == BEST
        outcome = agent.outcome(directive, "reverted", code="did_not_start")
        agent.send(agent.report(outcomes=[outcome], measures=directive["id"], failure="did_not_start"))
        session = go_on(service, agent, path, SPEEDS)
        assert session["verification"]["verdict"] == "rule_based"
        best = next(f for f in session["verification"]["finalists"] if f["name"] == "best")
        assert (best["readings"], best["failed"]) == ([], "failed (did_not_start)")


def test_a_reading_that_a_guard_ended_counts_as_a_failure(tmp_path: Path) -> None:
    with verifying(tmp_path) as (service, agent, path):
        directive = agent.next_directive()
        agent.send(agent.report(outcomes=[agent.outcome(directive, "reverted", code="guardrail", message="disk full")]))
        session = go_on(service, agent, path, SPEEDS)
        assert session["verification"]["verdict"] == "rule_based"
        assert "disk full" in session["message"]


def test_a_refusal_of_the_moment_is_asked_again(tmp_path: Path) -> None:
    with verifying(tmp_path) as (service, agent, path):
        directive = agent.next_directive()
        agent.send(agent.report(outcomes=[agent.outcome(directive, "refused", code="database_unavailable")]))
        assert go_on(service, agent, path, SPEEDS)["verification"]["verdict"] == "best"


def test_readings_that_never_come_pause_the_session(tmp_path: Path) -> None:
    with verifying(tmp_path) as (service, agent, path):
        for _ in range(5):
            directive = agent.next_directive()
            agent.send(agent.report(outcomes=[agent.outcome(directive, "refused", code="database_unavailable")]))
        session = service.take("GET", path)
        assert (session["state"], session["handover"]) == ("paused", None)


def test_a_limit_counts_in_the_verdict(tmp_path: Path) -> None:
    with lab(tmp_path) as (service, agent):
        path = begin(
            service,
            agent,
            objective={"metric": "tps", "goal": "maximize"},
            limits=[{"metric": "p99_ms", "at_most": 20.0}],
        )
        for turn in count():
            directive = service.next_directive(agent, path)
            if directive is None:
                break
            work_mem = int(directive["settings"]["work_mem"])
            slow = {BASELINE: 10.0, RULES: 12.0, BEST: 40.0}[work_mem]
            tps = {BASELINE: 100.0, RULES: 150.0, BEST: 300.0}[work_mem] * WOBBLE[turn % len(WOBBLE)]
            agent.carry_out(directive, tps=tps, p99_ms=slow)
            if service.take("GET", path)["state"] != "running":
                break
        session = service.take("GET", path)
        assert session["verification"]["verdict"] == "rule_based"
        assert "breaks the limit p99_ms ≤ 20" in session["message"]


def test_a_stop_withdraws_what_is_under_way_and_hands_nothing_over(tmp_path: Path) -> None:
    with verifying(tmp_path, readings=2) as (service, agent, path):
        directive = agent.next_directive()
        service.take("POST", f"{path}/stop")
        some_minutes_later(service, directive)
        agent.send()
        session = service.take("GET", path)
        assert (session["state"], session["handover"], session["verification"]["verdict"]) == ("stopped", None, None)
        assert service.take("GET", f"/v1/recommendations/{directive['id']}")["state"] == "rejected"


def test_a_pause_keeps_the_readings_and_a_resume_goes_on_with_the_next(tmp_path: Path) -> None:
    with verifying(tmp_path, readings=2) as (service, agent, path):
        directive = agent.next_directive()
        service.take("POST", f"{path}/pause")
        measure(agent, SPEEDS, 0, directive)
        assert agent.directive() is None
        before = service.take("GET", path)["verification"]
        assert sum(len(f["readings"]) for f in before["finalists"]) == 3
        service.take("POST", f"{path}/resume")
        assert go_on(service, agent, path, SPEEDS)["verification"]["verdict"] == "best"


def test_a_verification_survives_a_restart_of_the_service(tmp_path: Path) -> None:
    with verifying(tmp_path, readings=2) as (service, agent, path):
        token, sequence, settings = agent.headers, agent.sequence, agent.settings
        before = service.take("GET", path)["verification"]
    with running(tmp_path, executor=fake_executor(Search())) as service:
        again = Agent(service.client, token["Authorization"].removeprefix("Bearer "), agent.database)
        again.sequence, again.settings, again.clock = sequence, settings, agent.clock
        assert service.take("GET", path)["verification"] == before
        session = go_on(service, again, path, SPEEDS)
        assert (session["state"], session["verification"]["verdict"]) == ("completed", "best")


def test_both_computed_ends_can_be_replayed_and_a_single_reading_was_never_computed(tmp_path: Path) -> None:
    with lab(tmp_path) as (service, agent):
        session = go_on(service, agent, begin(service, agent), {BASELINE: 1000.0, RULES: 1300.0, BEST: 1300.0})
        kinds = ("verification", "handover")
        rows = service.store.read(lambda u: u.recommendations.of_kind(session["id"], kinds))
        for id_ in (rows[0].id, rows[-1].id):
            job, stored = service.store.read(lambda u, i=id_: recommendation_jobs.stored_answer(u, i))  # type: ignore[misc]
            again = Search().handover(job.payload)
            assert (again["configuration"], again["origin"]) == (stored["configuration"], stored["origin"])
        assert all(r.parent_id == rows[0].id for r in rows[1:-1])
        with pytest.raises(IllegalTransition, match="nothing was computed"):
            service.store.read(lambda u: recommendation_jobs.stored_answer(u, rows[1].id))


@pytest.mark.parametrize(("rounds", "mode"), [(0, "lab"), (6, "reload_only")])
def test_without_rounds_or_a_lab_the_models_best_is_handed_over_at_once(tmp_path: Path, rounds: int, mode: str) -> None:
    with lab(tmp_path) as (service, agent):
        path = begin(service, agent, max_trials=1, approval="manual")
        id_ = path.rpartition("/")[2]
        service.store.write(lambda u: u.sessions.change(id_, verification_rounds=rounds))
        made = service.recommended(agent.database)
        service.take("POST", f"/v1/recommendations/{made['id']}/approve")
        measure(agent, {BASELINE: 1000.0}, 0, agent.next_directive())
        agent.mode = mode
        agent.send()
        last = service.recommended(agent.database)
        assert (last["kind"], last["configuration"]["work_mem"]) == ("handover", BEST)
        assert service.take("GET", path)["verification"] is None
