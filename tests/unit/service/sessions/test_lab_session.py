from __future__ import annotations

import csv
import io
from datetime import timedelta
from pathlib import Path

import pytest
from lutra_models import serial

from tests.support.service.hosted import Agent, Document, Fakes, Service, fake_executor, running, some_minutes_later

pytestmark = pytest.mark.slow

SESSION = {
    "objective": {"metric": "qps", "goal": "maximize"},
    "limits": [],
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 3,
    "verification_rounds": 0,
    "seed": 1,
}


def run(service: Service, agent: Agent, **more: object) -> Document:
    """A whole session: the agent carries out whatever it is given until the session ends."""
    agent.send()
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", {**SESSION, **more})
    path, qps = f"/v1/sessions/{session['id']}", 1000.0
    while (directive := service.next_directive(agent, path)) is not None:
        agent.carry_out(directive, qps=qps, tps=qps / 5, p99_ms=10.0)
        qps += 10
    found: Document = service.take("GET", path)
    return found


@pytest.mark.slow
def test_a_session_measures_its_trials_hands_over_the_best_and_ends(service: Service, agent: Agent) -> None:
    session = run(service, agent)
    assert (session["state"], session["trials_done"]) == ("completed", 3)
    trials = service.take("GET", f"/v1/sessions/{session['id']}/trials")["items"]
    assert [t["trial"] for t in trials] == [1, 2, 3]
    assert [t["state"] for t in trials] == ["confirmed"] * 3
    assert trials[0]["origin"] == "current"
    assert trials[0]["changes"] == []
    assert trials[1]["measured"]["qps"] == 1010.0
    handover = service.take("GET", f"/v1/recommendations/{session['handover']}")
    assert handover["configuration"] == trials[2]["configuration"]
    assert handover["state"] == "confirmed"
    assert session["incumbent"] == session["handover"]


def test_a_clock_that_is_set_back_does_not_hold_a_session_up(service: Service, agent: Agent) -> None:
    run(service, agent)
    agent.clock -= timedelta(hours=1)
    session = run(service, agent)
    assert (session["state"], session["trials_done"]) == ("completed", 3)


def test_a_trial_shows_its_exact_change_and_undo_and_the_memory_line_by_line(service: Service, agent: Agent) -> None:
    session = run(service, agent)
    trial = service.take("GET", f"/v1/sessions/{session['id']}/trials")["items"][1]
    (change,) = trial["changes"]
    assert change["setting"] == "work_mem"
    assert (change["before_text"], change["after_text"]) == ("4MB", "5MB")
    assert change["do"] == "ALTER SYSTEM SET work_mem = '5MB'; SELECT pg_reload_conf()"
    assert change["undo"] == "ALTER SYSTEM RESET work_mem; SELECT pg_reload_conf()"
    assert change["do_steps"] == [
        {"text": "ALTER SYSTEM SET work_mem = '5MB'", "file": "", "section": ""},
        {"text": "SELECT pg_reload_conf()", "file": "", "section": ""},
    ]
    assert [step["text"] for step in change["undo_steps"]] == change["undo"].split("; ")
    terms = trial["memory"]["terms"]
    assert sum(t["bytes"] for t in terms) == trial["memory"]["total_bytes"]
    assert all(t["formula"] and t["assumption"] for t in terms)


def test_the_trials_come_as_a_table_too(service: Service, agent: Agent) -> None:
    session = run(service, agent)
    response = service.ask("GET", f"/v1/sessions/{session['id']}/trials?format=csv")
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [r["measured.qps"] for r in rows] == ["1000.0", "1010.0", "1020.0"]
    assert rows[2]["setting.work_mem"] == "6144"


def test_a_notebook_rebuilds_exactly_what_recommend_saw(service: Service, agent: Agent) -> None:
    session = run(service, agent)
    document = service.take("GET", f"/v1/sessions/{session['id']}/history")
    history = serial.history_from_dict(document)
    assert len(history.observations) == 4  # three trials and the handover
    assert history.space.rules
    assert serial.history_from_dict(serial.history_to_dict(history)).key == history.key
    assert [o.metrics["qps"] for o in history.observations] == [1000.0, 1010.0, 1020.0, 1030.0]


def test_what_the_server_cuts_is_part_of_what_recommend_sees(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    session = service.take("POST", f"/v1/databases/{database}/sessions", SESSION)
    agent.carry_out(agent.next_directive())
    directive = agent.next_directive()
    asked, made = directive["settings"]["work_mem"], 4500
    agent.apply({"work_mem": made})
    outcome = agent.outcome(directive, "applied", active={"work_mem": made})
    window = agent.window(qps=1000.0, tps=200.0, p99_ms=12.0)
    agent.send(agent.report(outcomes=[outcome], measures=directive["id"], **window))
    history = serial.history_from_dict(service.take("GET", f"/v1/sessions/{session['id']}/history"))
    assert history.server_rounding == {"work_mem": ((asked, made),)}
    assert serial.history_from_dict(serial.history_to_dict(history)).key == history.key


def test_a_session_waits_for_the_first_report(service: Service, agent: Agent, database: str) -> None:
    session = service.take("POST", f"/v1/databases/{database}/sessions", SESSION)
    assert session["current"] is None
    agent.send()
    assert service.take("GET", f"/v1/sessions/{session['id']}")["current"] is not None


def test_a_configuration_that_does_not_start_is_a_failed_trial_and_is_learned_from(
    service: Service, agent: Agent, database: str
) -> None:
    agent.send()
    session = service.take("POST", f"/v1/databases/{database}/sessions", SESSION)
    agent.carry_out(agent.next_directive())
    directive = agent.next_directive()
    outcome = agent.outcome(directive, "reverted", code="did_not_start", message="FATAL: no memory")
    agent.send(agent.report(outcomes=[outcome], measures=directive["id"], failure="did_not_start"))
    trial = service.take("GET", f"/v1/sessions/{session['id']}/trials")["items"][1]
    assert (trial["state"], trial["failed"], trial["measured"]) == ("reverted", "did_not_start", None)
    history = serial.history_from_dict(service.take("GET", f"/v1/sessions/{session['id']}/history"))
    assert history.observations[1].failure == "did_not_start"
    assert history.observations[1].configuration["work_mem"] == directive["settings"]["work_mem"]
    assert agent.next_directive()


def test_a_driver_that_fails_is_a_failed_trial(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    session = service.take("POST", f"/v1/databases/{database}/sessions", SESSION)
    directive = agent.next_directive()
    outcome = agent.outcome(directive, "applied")
    agent.send(agent.report(outcomes=[outcome], measures=directive["id"], failure="driver_failed"))
    trial = service.take("GET", f"/v1/sessions/{session['id']}/trials")["items"][0]
    assert (trial["state"], trial["failed"]) == ("failed", "driver_failed")


def test_refusals_over_and_over_pause_the_session(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    session = service.take("POST", f"/v1/databases/{database}/sessions", {**SESSION, "max_trials": 20})
    for _ in range(5):
        directive = agent.next_directive()
        refused = agent.outcome(directive, "refused", code="insufficient_privilege", message="no superuser")
        agent.send(agent.report(outcomes=[refused]))
    found = service.take("GET", f"/v1/sessions/{session['id']}")
    assert found["state"] == "paused"
    assert "insufficient_privilege: no superuser" in found["message"]
    assert agent.directive() is None


def test_a_p99_from_another_source_counts_as_missing(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    session = service.take("POST", f"/v1/databases/{database}/sessions", SESSION)
    agent.carry_out(agent.next_directive())
    directive = agent.next_directive()
    agent.apply(directive["settings"])
    body = agent.report(
        outcomes=[agent.outcome(directive, "applied")],
        measures=directive["id"],
        **{**agent.window(qps=1100.0, p99_ms=3.0), "p99_source": "estimated", "p99_of": "statement"},
    )
    agent.send(body)
    found = service.take("GET", f"/v1/sessions/{session['id']}")
    assert (found["p99_source"], found["p99_of"]) == ("driver", "transaction")
    trial = service.take("GET", f"/v1/sessions/{session['id']}/trials")["items"][1]
    assert trial["measured"] == {"qps": 1100.0}
    history = serial.history_from_dict(service.take("GET", f"/v1/sessions/{session['id']}/history"))
    assert "p99_ms" not in history.observations[1].metrics


def test_a_paused_session_takes_no_step_and_a_resumed_one_does(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    id_ = service.take("POST", f"/v1/databases/{database}/sessions", SESSION)["id"]
    directive = agent.next_directive()
    assert service.take("POST", f"/v1/sessions/{id_}/pause")["state"] == "paused"
    agent.carry_out(directive)
    assert agent.directive() is None
    assert service.take("POST", f"/v1/sessions/{id_}/resume")["state"] == "running"
    assert agent.next_directive()


def test_stopping_withdraws_what_is_not_applied(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    id_ = service.take("POST", f"/v1/databases/{database}/sessions", SESSION)["id"]
    directive = agent.next_directive()
    service.take("POST", f"/v1/sessions/{id_}/stop")
    assert agent.directive() is None
    some_minutes_later(service, directive)
    agent.send()
    assert service.take("GET", f"/v1/recommendations/{directive['id']}")["state"] == "rejected"
    assert service.code("POST", f"/v1/sessions/{id_}/resume") == (409, "illegal_transition")


def test_a_database_has_one_open_session(service: Service, agent: Agent, database: str) -> None:
    service.take("POST", f"/v1/databases/{database}/sessions", SESSION)
    assert service.code("POST", f"/v1/databases/{database}/sessions", SESSION) == (409, "conflict")


def test_a_result_that_breaks_the_rules_is_never_proposed(tmp_path: Path) -> None:
    class Greedy(Fakes):
        def recommend(self, request):  # type: ignore[no-untyped-def]
            result = super().recommend(request)
            if result["origin"] != "current":
                result["configuration"]["work_mem"] = 1 << 30
            return result

    with running(tmp_path, executor=fake_executor(Greedy())) as service:
        agent = service.agent(service.database())
        agent.send()
        id_ = service.take("POST", f"/v1/databases/{agent.database}/sessions", SESSION)["id"]
        first = agent.next_directive()
        agent.carry_out(first)
        session = service.until(f"/v1/sessions/{id_}", lambda s: s["state"] != "running")
        assert session["state"] == "paused"
        assert "memory_budget_exceeded" in session["message"]
        trial = service.take("GET", f"/v1/sessions/{session['id']}/trials")["items"][1]
        assert trial["state"] == "failed"


@pytest.mark.slow
def test_after_a_session_settings_are_tried_one_by_one_and_measured(service: Service, agent: Agent) -> None:
    session = run(service, agent)
    trials = service.take("GET", f"/v1/sessions/{session['id']}/trials")["items"]
    path = f"/v1/databases/{agent.database}/recommendations"
    for turn, trial in enumerate([trials[0], trials[1], trials[2]] * 2):
        made = service.take("POST", path, {"settings": trial["configuration"], "approve": True})
        assert made["state"] == "approved"
        directive = agent.next_directive()
        assert directive["measure"] is True
        assert directive["id"] == made["id"]
        agent.carry_out(directive, qps=500.0 + turn, p99_ms=9.0)
        found = service.take("GET", f"/v1/recommendations/{made['id']}")
        assert found["measured"]["qps"] == 500.0 + turn
        assert found["state"] == "confirmed"


def test_a_window_from_between_two_trials_does_not_bind_the_p99(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    id_ = service.take("POST", f"/v1/databases/{database}/sessions", SESSION)["id"]
    directive = agent.next_directive()
    between = {**agent.window(qps=3.0, p99_ms=1.0), "p99_source": "estimated", "p99_of": "statement"}
    agent.send(agent.report(**between))
    assert service.take("GET", f"/v1/sessions/{id_}")["p99_source"] is None
    agent.carry_out(directive)
    assert service.take("GET", f"/v1/sessions/{id_}")["p99_source"] == "driver"


def test_a_policy_that_contradicts_the_server_pauses_the_session_and_keeps_the_report(
    service: Service, agent: Agent, database: str
) -> None:
    service.take("PATCH", f"/v1/databases/{database}", {"policy": {"pins": {"work_mem": "plenty"}}})
    id_ = service.take("POST", f"/v1/databases/{database}/sessions", SESSION)["id"]
    agent.send()
    found = service.take("GET", f"/v1/sessions/{id_}")
    assert found["state"] == "paused"
    assert "work_mem" in found["message"]


def test_a_change_that_would_not_take_is_a_trial_done(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    id_ = service.take("POST", f"/v1/databases/{database}/sessions", SESSION)["id"]
    agent.carry_out(agent.next_directive())
    directive = agent.next_directive()
    outcome = agent.outcome(directive, "failed", code="not_active_after_apply", message="work_mem is 4096")
    agent.send(agent.report(outcomes=[outcome]))
    assert service.take("GET", f"/v1/sessions/{id_}")["trials_done"] == 2
    trial = service.take("GET", f"/v1/sessions/{id_}/trials")["items"][1]
    assert trial["failed"] == "not_active_after_apply: work_mem is 4096"


@pytest.mark.slow
def test_a_resumed_session_is_given_as_many_trials_anew(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    id_ = service.take("POST", f"/v1/databases/{database}/sessions", {**SESSION, "max_trials": 20})["id"]

    def refuse(times: int) -> str:
        for _ in range(times):
            refused = agent.outcome(agent.next_directive(), "refused", code="insufficient_privilege")
            agent.send(agent.report(outcomes=[refused]))
        return str(service.take("GET", f"/v1/sessions/{id_}")["state"])

    assert refuse(5) == "paused"
    assert service.take("POST", f"/v1/sessions/{id_}/resume")["state"] == "running"
    assert refuse(4) == "running"
    assert refuse(1) == "paused"
