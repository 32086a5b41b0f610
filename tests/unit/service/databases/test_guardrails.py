"""Guardrails, commit-confirmed changes and maintenance windows, as the service sees them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lutra_models.maintenance import WEEKDAYS

from tests.support.service.hosted import (
    Agent,
    Document,
    Service,
    applied,
    approved,
    guard_event,
    look,
    some_minutes_later,
)

pytestmark = pytest.mark.slow

SESSION = {"objective": {"metric": "p99_ms", "goal": "minimize"}, "mode": "restart_in_window", "max_trials": 5}
ALWAYS = {"weekdays": list(WEEKDAYS), "start": "00:00", "minutes": 1440}


def never() -> Document:
    """A window that neither is open now nor opens within a day."""
    day = WEEKDAYS[(datetime.now(UTC).weekday() + 3) % 7]
    return {"weekdays": [day], "start": "12:00", "minutes": 60, "zone": "UTC"}


def test_guardrails_are_shown_with_who_set_them_and_reach_the_agent(service: Service, agent: Agent) -> None:
    path = f"/v1/databases/{agent.database}/guardrails"
    assert agent.send()["rules"] == {"guardrails": {}, "maintenance_windows": []}
    told = service.take("GET", path)["guardrails"]
    assert (told["p99"]["limit"], told["p99"]["hold_s"], told["p99"]["origin"]) == (2.0, 30.0, "default")
    wanted = {"guardrails": {"p99": {"limit": 3.0, "hold_s": 60}}}
    told = service.take("PUT", path, wanted)["guardrails"]
    assert (told["p99"]["limit"], told["p99"]["origin"], told["qps"]["origin"]) == (3.0, "service", "default")
    rail = {"limit": 3.0, "hold_s": 60.0, "enabled": True}
    assert agent.send()["rules"]["guardrails"] == {"p99": rail}
    agent.send(agent.report(status={"mode": "lab", "guardrails": {"disk": {"limit": 5, "hold_s": 5}}}))
    assert service.take("GET", path)["guardrails"]["disk"]["origin"] == "agent"


@pytest.mark.parametrize(
    "body",
    [
        {"guardrails": {"speed": {"limit": 1, "hold_s": 1}}},
        {"guardrails": {"p99": {"limit": -1, "hold_s": 1}}},
        {"guardrails": {"p99": {"limit": 1, "hold_s": 99999}}},
    ],
)
def test_guardrails_that_make_no_sense_are_refused(service: Service, database: str, body: Document) -> None:
    assert service.code("PUT", f"/v1/databases/{database}/guardrails", body) == (422, "invalid_request")


def test_an_agent_may_look_at_its_rules_and_not_change_them(service: Service, agent: Agent) -> None:
    for name in ("guardrails", "maintenance-windows"):
        path = f"/v1/databases/{agent.database}/{name}"
        agent.take("GET", path)
        assert agent.code("PUT", path, {"guardrails": {}, "windows": []})[0] in (403, 422)


def test_a_provisional_change_is_confirmed_once_measured_and_confirmed_by_its_agent(
    service: Service, agent: Agent
) -> None:
    made = applied(service, agent)
    for p99 in (90.0, 40.0, 41.0, 42.0):
        agent.send(agent.report(**agent.window(p99_ms=p99)))
    found = look(service, made)
    assert (found["state"], found["measured"]["p99_ms"]) == ("applied", pytest.approx(41.0))
    agent.send(agent.report(outcomes=[agent.outcome({"id": made["id"]}, "confirmed")]))
    found = look(service, made)
    assert found["state"] == "confirmed"
    assert found["outcome"]["confirmed_at"]


def test_a_confirmation_that_comes_before_the_measurement_waits_for_it(service: Service, agent: Agent) -> None:
    made = applied(service, agent)
    agent.send(agent.report(outcomes=[agent.outcome({"id": made["id"]}, "confirmed")]))
    assert look(service, made)["state"] == "applied"
    for _ in range(4):
        agent.send(agent.report(**agent.window(p99_ms=40.0)))
    assert look(service, made)["state"] == "confirmed"


@pytest.mark.parametrize("confirmed", [False, True])
def test_a_change_that_a_guard_took_back_is_reverted_with_the_figures(
    service: Service, agent: Agent, confirmed: bool
) -> None:
    made = applied(service, agent)
    if confirmed:
        for _ in range(4):
            agent.send(agent.report(**agent.window(p99_ms=40.0)))
        agent.send(agent.report(outcomes=[agent.outcome({"id": made["id"]}, "confirmed")]))
        assert look(service, made)["state"] == "confirmed"
    told = guard_event(agent, made)
    reverted = agent.outcome({"id": made["id"]}, "reverted", code="guardrail", message=told["message"])
    failed = {"measures": made["id"], "failure": "guardrail"}
    for _ in range(2):  # an agent that died in between tells it again
        agent.send(agent.report(outcomes=[reverted], events=[told], **failed))
    found = look(service, made)
    assert (found["state"], found["error"]) == ("reverted", f"guardrail: {told['message']}")
    assert found["outcome"]["events"][0]["value"] == 60.0
    [listed] = service.take("GET", f"/v1/databases/{agent.database}/events")["items"]
    assert (listed["guard"], listed["recommendation"], listed["bound"]) == ("p99", made["id"], 25.0)


def test_an_event_without_a_change_is_kept_and_shown_in_the_session(service: Service, agent: Agent) -> None:
    agent.send()
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", {**SESSION, "mode": "reload_only"})
    agent.send(agent.report(events=[guard_event(agent)]))
    found = service.take("GET", f"/v1/sessions/{session['id']}")
    assert [(e["guard"], e["recommendation"]) for e in found["events"]] == [("p99", None)]
    assert found["state"] == "running"


def test_maintenance_windows_are_set_shown_and_told_to_the_agent(service: Service, agent: Agent) -> None:
    path = f"/v1/databases/{agent.database}/maintenance-windows"
    assert service.take("GET", path) == {"windows": [], "open_until": None, "next": None}
    later = never()
    told = service.take("PUT", path, {"windows": [later]})
    assert (told["windows"], told["open_until"]) == ([later], None)
    assert told["next"]["start"][11:16] == "12:00"
    assert agent.send()["rules"]["maintenance_windows"] == [later]
    assert service.take("PUT", path, {"windows": [ALWAYS]})["open_until"] is not None


@pytest.mark.parametrize(
    "wrong",
    [{"zone": "Europe/Atlantis"}, {"start": "24:00"}, {"weekdays": []}, {"minutes": 0}, {"weekdays": ["today"]}],
)
def test_windows_that_make_no_sense_are_refused(service: Service, database: str, wrong: Document) -> None:
    path = f"/v1/databases/{database}/maintenance-windows"
    assert service.code("PUT", path, {"windows": [{**never(), **wrong}]}) == (422, "invalid_request")


def test_a_restart_waits_for_its_window_and_its_approval_with_it(service: Service, agent: Agent) -> None:
    agent.mode = "restart_in_window"
    agent.send()
    path = f"/v1/databases/{agent.database}/maintenance-windows"
    service.take("PUT", path, {"windows": [never()]})
    made = approved(service, agent, shared_buffers="1GB")
    assert any("waits: the next maintenance window begins at" in w for w in made["warnings"])
    assert datetime.fromisoformat(made["expires_at"]) > datetime.now(UTC) + timedelta(hours=25)
    assert agent.directive() is None
    service.take("PUT", path, {"windows": [ALWAYS]})
    directive = agent.directive()
    assert directive is not None
    assert (directive["restart_allowed"], directive["measure"], directive["rollback"]) == (True, False, False)
    assert directive["rules"]["maintenance_windows"][0]["minutes"] == 1440


def test_what_needs_no_restart_waits_for_no_window(service: Service, agent: Agent) -> None:
    agent.mode = "restart_in_window"
    agent.send()
    service.take("PUT", f"/v1/databases/{agent.database}/maintenance-windows", {"windows": [never()]})
    approved(service, agent, work_mem="8MB")
    assert agent.directive() is not None


def test_without_any_window_nothing_that_needs_a_restart_moves(service: Service, agent: Agent) -> None:
    agent.mode = "restart_in_window"
    agent.send()
    path = f"/v1/databases/{agent.database}/recommendations"
    response = service.ask("POST", path, {"settings": {"shared_buffers": "1GB"}})
    assert response.status_code == 422
    assert "no maintenance window is set" in response.json()["detail"]


def test_an_operators_rollback_waits_for_no_window(service: Service, agent: Agent) -> None:
    agent.mode = "restart_in_window"
    agent.send()
    path = f"/v1/databases/{agent.database}/maintenance-windows"
    service.take("PUT", path, {"windows": [ALWAYS]})
    made = approved(service, agent, shared_buffers="1GB")
    directive = agent.directive()
    assert directive is not None
    agent.apply(directive["settings"])
    agent.send(agent.report(outcomes=[agent.outcome(directive, "applied")]))
    service.take("PUT", path, {"windows": [never()]})
    service.take("POST", f"/v1/recommendations/{made['id']}/rollback")
    back = agent.directive()
    assert back is not None
    assert (back["rollback"], back["restart_allowed"]) == (True, True)


CHANGES: list[tuple[Document, str]] = [
    ({"role": "standby"}, "the server was a primary and is a standby"),
    ({"engine_version": "17.1"}, "its version was 16.4 and is 17.1"),
    ({"host": {"memory_bytes": 4 << 30, "cores": 4}}, "its memory was 8192 MiB and is 4096 MiB"),
    ({"host": {"memory_bytes": 8 << 30, "cores": 2}}, "its cores were 4 and are 2"),
    ({"identifier": "another"}, "another server"),
]


@pytest.mark.parametrize(("changed", "why"), CHANGES)
def test_a_session_whose_server_became_another_one_pauses_and_says_why(
    service: Service, agent: Agent, changed: Document, why: str
) -> None:
    agent.send(agent.report(identifier="one"))
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", {**SESSION, "mode": "lab"})
    made = approved(service, agent, work_mem="8MB")
    directive = agent.directive()
    assert directive is not None
    assert directive["expects"] is None or directive["expects"]["role"] == "primary"
    agent.send(agent.report(**{"identifier": "one", **changed}))
    found = service.take("GET", f"/v1/sessions/{session['id']}")
    assert found["state"] == "paused"
    assert why in found["message"]
    assert agent.directive() is None
    some_minutes_later(service, made)
    agent.send(agent.report(**{"identifier": "one", **changed}))
    assert look(service, made)["state"] == "rejected"


def test_resuming_begins_anew_on_the_server_of_now(service: Service, agent: Agent) -> None:
    agent.send()
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", {**SESSION, "approval": "automatic"})
    path = f"/v1/sessions/{session['id']}"
    agent.clock += timedelta(seconds=30)
    agent.send(agent.report(**agent.window(p99_ms=10.0)))
    assert service.take("GET", f"{path}/history")["observations"]
    agent.send(agent.report(engine_version="17.1"))
    assert service.take("GET", path)["state"] == "paused"
    resumed: Any = service.take("POST", f"{path}/resume")
    assert (resumed["state"], resumed["server"]["engine_version"], resumed["trials_done"]) == ("running", "17.1", 0)
    assert resumed["rebased_at"]
    assert service.take("GET", f"{path}/history")["observations"] == []
    agent.send(agent.report(engine_version="17.1"))
    assert service.take("GET", path)["state"] == "running"


def test_a_session_does_not_go_on_while_its_server_is_a_standby(service: Service, agent: Agent) -> None:
    agent.send()
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", SESSION)
    path = f"/v1/sessions/{session['id']}"
    agent.send(agent.report(role="standby"))
    assert service.code("POST", f"{path}/resume") == (409, "conflict")
    agent.send()
    assert service.take("POST", f"{path}/resume")["rebased_at"] is None


def test_a_refusal_that_another_try_would_meet_again_pauses_the_session(service: Service, agent: Agent) -> None:
    agent.send()
    lab = {**SESSION, "mode": "lab", "approval": "automatic"}
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", lab)
    directive = agent.next_directive()
    agent.send(agent.report(outcomes=[agent.outcome(directive, "refused", code="guardrail", message="disk fires")]))
    found = service.take("GET", f"/v1/sessions/{session['id']}")
    assert (found["state"], "disk fires" in found["message"]) == ("paused", True)


def test_the_mode_that_counts_stands_beside_the_one_that_was_asked_for(service: Service, agent: Agent) -> None:
    agent.mode = "reload_only"
    agent.send()
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", {**SESSION, "mode": "lab"})
    assert (session["mode"], session["effective_mode"]) == ("lab", "reload_only")


def test_a_name_that_is_nearly_right_gets_a_hint(service: Service, agent: Agent) -> None:
    agent.send()
    path = f"/v1/databases/{agent.database}/recommendations"
    assert "did you mean work_mem?" in service.ask("POST", path, {"settings": {"wrok_mem": 8}}).json()["detail"]
    patch = {"policy": {"pins": {"shared_bufers": "1GB"}}}
    assert "did you mean shared_buffers?" in service.ask("PATCH", f"/v1/databases/{agent.database}", patch).text
    response = service.ask("POST", "/v1/databases", {"name": "x", "engine": "postgres"})
    assert (response.status_code, "did you mean postgresql?" in response.text) == (422, True)
