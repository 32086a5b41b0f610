from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lutra_models.maintenance import WEEKDAYS
from lutra_models.server import ServerSetting

from tests.support.service.hosted import LONGEST, MEMORY_BYTES, POSTGRESQL, Agent, Document, Service, approved, look

pytestmark = pytest.mark.slow

OBSERVE = {"objective": {"metric": "p99_ms", "goal": "minimize"}, "mode": "reload_only", "max_trials": 5}


def propose(service: Service, database: str, approve: bool = False, **settings: object) -> Document:
    path = f"/v1/databases/{database}/recommendations"
    made: Document = service.take("POST", path, {"settings": settings, "approve": approve})
    return made


def test_an_operators_own_settings_are_shown_before_anything_happens(
    service: Service, agent: Agent, database: str
) -> None:
    agent.send()
    made = propose(service, database, work_mem="8MB", shared_buffers="1GB")
    assert (made["state"], made["kind"]) == ("proposed", "manual")
    changes = {c["setting"]: c for c in made["changes"]}
    assert changes["shared_buffers"]["after"] == 131072
    assert (changes["shared_buffers"]["before_text"], changes["shared_buffers"]["after_text"]) == ("128MB", "1GB")
    assert made["restart_needed"] is True
    assert made["memory"]["total_bytes"] <= made["memory"]["limit_bytes"] == int(MEMORY_BYTES * 0.8)
    assert agent.directive() is None


def test_whom_a_change_does_not_reach_is_shown_before_anything_happens(
    service: Service, agent: Agent, database: str
) -> None:
    agent.settings["work_mem"] = replace(agent.settings["work_mem"], unreached="role reporting")
    agent.send()
    made = propose(service, database, work_mem="8MB")
    assert "work_mem does not change for role reporting: they have their own values" in made["warnings"]
    reported = service.take("GET", f"/v1/databases/{database}/settings")["items"]
    assert {s["setting"]: s["unreached"] for s in reported if s["unreached"]} == {"work_mem": "role reporting"}


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"shared_buffers": "7GB"}, "memory_budget_exceeded"),
        ({"work_mem": "1GB", "max_connections": 200}, "memory_budget_exceeded"),
        ({"warp_speed": 9}, "invalid_configuration"),
        ({"work_mem": "plenty"}, "invalid_configuration"),
        ({"random_page_cost": -5}, "invalid_configuration"),
        ({"synchronous_commit": "off"}, "invalid_configuration"),
        ({"work_mem": True}, "invalid_request"),
    ],
)
def test_settings_that_must_not_be_are_refused(
    service: Service, agent: Agent, database: str, settings: Document, code: str
) -> None:
    agent.send()
    told = service.code("POST", f"/v1/databases/{database}/recommendations", {"settings": settings})
    assert told == (422, code)
    assert service.take("GET", f"/v1/databases/{database}/recommendations")["items"] == []


def test_before_the_first_report_nothing_can_be_recommended(service: Service, database: str) -> None:
    path = f"/v1/databases/{database}/recommendations"
    assert service.code("POST", path, {"settings": {"work_mem": "8MB"}}) == (409, "not_enough_observations")
    assert service.code("POST", path) == (409, "session_closed")


def test_what_is_approved_is_carried_out_and_one_change_at_a_time(
    service: Service, agent: Agent, database: str
) -> None:
    agent.send()
    first, second = propose(service, database, work_mem="8MB"), propose(service, database, work_mem="9MB")
    approved = service.take("POST", f"/v1/recommendations/{first['id']}/approve")
    assert approved["state"] == "approved"
    assert service.code("POST", f"/v1/recommendations/{second['id']}/approve") == (409, "conflict")
    assert service.code("POST", f"/v1/recommendations/{first['id']}/approve") == (409, "illegal_transition")
    directive = agent.directive()
    assert directive is not None
    assert directive["settings"]["work_mem"] == 8192
    assert (directive["restart_allowed"], directive["restore"]) == (True, False)


def test_a_subset_is_a_new_rechecked_recommendation(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    whole = propose(service, database, work_mem="8MB", shared_buffers="1GB")
    path = f"/v1/recommendations/{whole['id']}/approve"
    assert service.code("POST", path, {"settings": ["jit"]}) == (422, "invalid_configuration")
    part = service.take("POST", path, {"settings": ["work_mem"]})
    assert (part["kind"], part["parent"], part["state"]) == ("subset", whole["id"], "approved")
    assert [c["setting"] for c in part["changes"]] == ["work_mem"]
    assert part["restart_needed"] is False
    assert service.take("GET", f"/v1/recommendations/{whole['id']}")["state"] == "rejected"


def test_a_rejected_one_stays_rejected(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    made = propose(service, database, work_mem="8MB")
    assert service.take("POST", f"/v1/recommendations/{made['id']}/reject")["state"] == "rejected"
    assert service.code("POST", f"/v1/recommendations/{made['id']}/approve") == (409, "illegal_transition")


def test_a_rollback_restores_what_was_before(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    made = propose(service, database, approve=True, work_mem="8MB")
    agent.carry_out(agent.directive() or {})
    back = service.take("POST", f"/v1/recommendations/{made['id']}/rollback")
    assert (back["kind"], back["parent"], back["state"]) == ("rollback", made["id"], "approved")
    directive = agent.directive()
    assert directive is not None
    assert directive["restore"] is True
    assert directive["measure"] is False
    assert directive["settings"]["work_mem"] == 4096
    agent.apply(directive["settings"])
    agent.send(agent.report(outcomes=[agent.outcome(directive, "applied")]))
    assert service.take("GET", f"/v1/recommendations/{made['id']}")["state"] == "reverted"
    assert service.take("GET", f"/v1/recommendations/{back['id']}")["state"] == "confirmed"


def test_going_back_to_measured_settings_is_never_refused_for_memory(
    service: Service, agent: Agent, database: str
) -> None:
    agent.send()
    propose(service, database, approve=True, shared_buffers="4GB")
    agent.carry_out(agent.directive() or {})
    propose(service, database, approve=True, shared_buffers="1GB")
    agent.carry_out(agent.directive() or {})
    service.take("PATCH", f"/v1/databases/{database}", {"policy": {"memory_fraction": 0.3}})
    told = service.code("POST", f"/v1/databases/{database}/recommendations", {"settings": {"shared_buffers": "3GB"}})
    assert told == (422, "memory_budget_exceeded")
    back = propose(service, database, shared_buffers="4GB")
    assert any("above the limit" in w for w in back["warnings"])


def test_a_paused_agent_and_one_that_only_observes_get_no_directive(
    service: Service, agent: Agent, database: str
) -> None:
    agent.send(agent.report(status={"mode": "lab", "paused": True}))
    propose(service, database, approve=True, work_mem="8MB")
    assert agent.directive() is None
    agent.send(agent.report(status={"mode": "observe"}))
    assert agent.directive() is None
    agent.send(agent.report(status={"mode": "lab"}))
    assert agent.directive() is not None


def test_what_was_pasted_and_is_not_active_yet_is_named_with_the_way_out(
    service: Service, agent: Agent, database: str
) -> None:
    agent.mode = "observe"
    agent.send()
    made = propose(service, database, approve=True, max_wal_size="4GB")
    assert look(service, made)["waits"] == "in mode observe the agent changes nothing: apply the statements by hand"
    agent.settings["max_wal_size"] = replace(agent.settings["max_wal_size"], persisted="4GB")
    agent.send(agent.report(settings_hash="pasted"))
    told = "4GB is in the file but not active: a reload (SELECT pg_reload_conf()) activates it"
    assert look(service, made)["waits"] == f"max_wal_size: {told}"
    listed = {s["setting"]: s["not_active"] for s in service.take("GET", f"/v1/databases/{database}/settings")["items"]}
    assert {name: words for name, words in listed.items() if words} == {"max_wal_size": told}
    agent.apply({"max_wal_size": 4096})
    agent.send()
    assert look(service, made)["state"] == "applied"


def test_what_no_longer_has_to_be_carried_out_waits_for_nothing(service: Service, agent: Agent, database: str) -> None:
    agent.mode = "restart_in_window"
    agent.send()
    session = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "restart_in_window"}
    service.take("POST", f"/v1/databases/{database}/sessions", session)
    windows, today = f"/v1/databases/{database}/maintenance-windows", datetime.now(UTC).weekday()
    later = {"weekdays": [WEEKDAYS[(today + 3) % 7]], "start": "12:00", "minutes": 60}
    service.take("PUT", windows, {"windows": [later]})
    made = propose(service, database, approve=True, shared_buffers="1GB")
    assert any(w.startswith("needs a restart, which waits") for w in made["warnings"])
    always = {"weekdays": list(WEEKDAYS), "start": "00:00", "minutes": 1440}
    service.take("PUT", windows, {"windows": [always]})
    directive = agent.next_directive()
    agent.apply(directive["settings"])
    agent.send(agent.report(outcomes=[agent.outcome(directive, "applied")]))
    agent.send(agent.report(outcomes=[agent.outcome(directive, "reverted", code="guardrail", message="p99: worse")]))
    found = look(service, made)
    assert (found["state"], found["warnings"]) == ("reverted", [])


@pytest.mark.parametrize(
    ("setting", "value", "told"),
    [
        ("autovacuum", "off", "autovacuum on → off puts availability at risk: Whether dead rows are removed"),
        ("wal_recycle", "off", "wal_recycle on → off is proposed only where the policy names it"),
        ("max_connections", 200, ""),
        ("jit", "off", ""),
    ],
)
def test_a_value_that_somebody_chose_is_warned_of_where_it_does_harm(
    service: Service, agent: Agent, database: str, setting: str, value: Any, told: str
) -> None:
    for name in ("autovacuum", "wal_recycle"):
        agent.settings[name] = ServerSetting("on", "", "bool")
    agent.send()
    warnings = propose(service, database, **{setting: value})["warnings"]
    assert any(told in w for w in warnings) if told else not warnings


def test_the_weaker_of_session_and_agent_counts(service: Service, agent: Agent, database: str) -> None:
    agent.mode = "reload_only"
    agent.send()
    path = f"/v1/databases/{database}/recommendations"
    told = service.code("POST", path, {"settings": {"shared_buffers": "1GB"}})
    assert told == (422, "invalid_configuration")
    propose(service, database, approve=True, work_mem="8MB")
    directive = agent.directive()
    assert directive is not None
    assert (directive["restart_allowed"], directive["measure"]) == (False, False)


def test_outside_a_lab_the_windows_after_a_change_measure_it_and_the_first_is_warm_up(
    service: Service, agent: Agent, database: str
) -> None:
    agent.mode = "reload_only"
    agent.observe()
    service.take("POST", f"/v1/databases/{database}/sessions", OBSERVE)
    agent.clock += timedelta(seconds=30)
    path = f"/v1/databases/{database}/recommendations"
    agent.send(agent.report(**agent.window(p99_ms=50.0, tps=10.0)))
    made = service.recommended(database)
    assert (made["state"], made["kind"]) == ("proposed", "search")
    assert service.take("POST", path)["id"] == made["id"]
    approved = service.take("POST", f"/v1/recommendations/{made['id']}/approve")
    directive = agent.directive()
    assert directive is not None
    agent.apply(directive["settings"])
    agent.send(agent.report(outcomes=[agent.outcome(directive, "applied")]))
    agent.clock += timedelta(seconds=60)
    for p99 in (90.0, 40.0, 41.0):
        agent.send(agent.report(**agent.window(p99_ms=p99, tps=10.0)))
        assert service.take("GET", f"/v1/recommendations/{approved['id']}")["state"] == "applied"
    agent.send(agent.report(**agent.window(p99_ms=42.0, tps=10.0)))
    found = service.take("GET", f"/v1/recommendations/{approved['id']}")
    assert found["state"] == "confirmed"
    assert found["measured"]["p99_ms"] == pytest.approx(41.0)


def test_a_change_that_an_operator_makes_by_hand_is_noticed(service: Service, agent: Agent, database: str) -> None:
    agent.mode = "observe"
    agent.send()
    made = propose(service, database, approve=True, work_mem="8MB")
    assert any("by hand" in w for w in made["warnings"])
    assert agent.directive() is None
    agent.apply({"work_mem": 8192})
    agent.send()
    assert service.take("GET", f"/v1/recommendations/{made['id']}")["state"] == "applied"


def test_a_result_can_be_waited_for_and_names_its_place(service: Service, agent: Agent, database: str) -> None:
    agent.observe()
    service.take("POST", f"/v1/databases/{database}/sessions", OBSERVE)
    response = service.ask("POST", f"/v1/databases/{database}/recommendations", None, Prefer=LONGEST)
    assert response.status_code == 201
    assert response.headers["location"] == f"/v1/recommendations/{response.json()['id']}"


def test_a_what_if_needs_a_model(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    told = service.code("POST", f"/v1/databases/{database}/predictions", {"settings": {"work_mem": "8MB"}})
    assert told == (409, "not_enough_observations")


def test_a_directive_that_waits_is_told_at_once(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    made = propose(service, database, approve=True, work_mem="8MB")
    directive = agent.next_directive()
    assert directive["id"] == made["id"]


def test_an_outcome_for_anothers_directive_changes_nothing(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    made = propose(service, database, approve=True, work_mem="8MB")
    other = service.agent(service.database("other"))
    other.send(other.report(outcomes=[other.outcome({"id": made["id"]}, "applied")]))
    assert service.take("GET", f"/v1/recommendations/{made['id']}")["state"] == "approved"


def test_an_unknown_recommendation_is_not_found(service: Service) -> None:
    assert service.code("GET", "/v1/recommendations/rec_none") == (404, "not_found")
    assert service.code("GET", "/v2/nothing") == (404, "not_found")
    assert service.code("DELETE", "/v1/databases") == (405, "method_not_allowed")


UNDO = "ALTER SYSTEM RESET work_mem; SELECT pg_reload_conf()"


def test_a_rollback_is_shown_in_the_words_of_the_changes_own_undo(
    service: Service, agent: Agent, database: str
) -> None:
    agent.send()
    made = propose(service, database, approve=True, work_mem="8MB")
    assert made["changes"][0]["undo"] == UNDO
    directive = agent.directive()
    assert directive is not None
    agent.carry_out(directive)
    back = service.take("POST", f"/v1/recommendations/{made['id']}/rollback")
    assert [c["do"] for c in back["changes"]] == [UNDO]
    assert back["changes"][0]["do_steps"] == made["changes"][0]["undo_steps"]


def test_a_restart_that_the_mode_forbids_is_named_as_the_reason(service: Service, database: str) -> None:
    agent = service.agent(database, mode="reload_only")
    agent.send()
    told = service.ask("POST", f"/v1/databases/{database}/recommendations", {"settings": {"shared_buffers": "1GB"}})
    assert "needs a restart" in told.json()["detail"]
    assert "reload_only" in told.json()["detail"]


def test_a_paused_session_says_how_it_goes_on_and_why_it_paused(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    session = service.take("POST", f"/v1/databases/{database}/sessions", OBSERVE)["id"]
    service.take("POST", f"/v1/sessions/{session}/pause")
    told = service.ask("POST", f"/v1/databases/{database}/recommendations").json()
    assert (told["code"], f"/v1/sessions/{session}/resume" in told["detail"]) == ("session_closed", True)
    told = service.ask("POST", f"/v1/databases/{database}/sessions", OBSERVE).json()
    assert f"/v1/sessions/{session}/stop" in told["detail"]


def test_the_part_of_a_trial_that_was_approved_is_a_trial(service: Service, database: str) -> None:
    agent = service.agent(database, mode="reload_only")
    agent.observe()
    session = service.take("POST", f"/v1/databases/{database}/sessions", OBSERVE)["id"]
    whole = service.recommended(database)
    assert [c["setting"] for c in whole["changes"]] == ["work_mem"]
    part = service.take("POST", f"/v1/recommendations/{whole['id']}/approve", {"settings": ["work_mem"]})
    told = service.take("GET", f"/v1/sessions/{session}/trials")["items"]
    assert [(t["trial"], t["state"]) for t in told] == [(1, "rejected"), (1, "approved")]
    assert told[-1]["recommendation"] == part["id"]


def test_rule_based_settings_that_were_turned_down_are_not_proposed_again(service: Service, database: str) -> None:
    agent = service.agent(database, mode="reload_only")
    agent.send()
    session = service.take("POST", f"/v1/databases/{database}/sessions", OBSERVE)["id"]
    path = f"/v1/sessions/{session}/history"
    (rule_based,) = service.take("GET", path)["starts"]
    changed = {n: v for n, v in rule_based.items() if v != service.take("GET", path)["current"][n]}
    made = propose(service, database, **changed)
    service.take("POST", f"/v1/recommendations/{made['id']}/reject")
    assert service.take("GET", path)["starts"] == []


def test_a_change_by_hand_is_noticed_though_the_server_derives_another_setting_from_it(
    service: Service, database: str
) -> None:
    agent = service.agent(database, mode="observe")
    agent.settings["wal_buffers"] = ServerSetting("512", "8kB", "integer", -1, 262143, applies="restart")
    agent.send()
    made = propose(service, database, approve=True, shared_buffers="256MB")
    agent.apply({"shared_buffers": 32768})
    agent.settings["wal_buffers"] = replace(agent.settings["wal_buffers"], value="1024")
    agent.send()
    assert service.take("GET", f"/v1/recommendations/{made['id']}")["state"] == "applied"
    back = service.take("POST", f"/v1/recommendations/{made['id']}/rollback")
    assert [c["do"] for c in back["changes"]] == ["ALTER SYSTEM RESET shared_buffers"]
    agent.settings["shared_buffers"] = POSTGRESQL["shared_buffers"]
    agent.send()
    assert service.take("GET", f"/v1/recommendations/{back['id']}")["state"] == "confirmed"
    assert service.take("GET", f"/v1/recommendations/{made['id']}")["state"] == "reverted"


def measured(service: Service, agent: Agent, **settings: object) -> Document:
    """A change that the agent carried out, and that was measured."""
    made = approved(service, agent, **settings)
    agent.carry_out(agent.directive() or {})
    return made


def test_a_rollback_also_ends_what_was_confirmed_later_and_is_undone_by_it(service: Service, agent: Agent) -> None:
    agent.send()
    first = measured(service, agent, work_mem="8MB")
    second, third = measured(service, agent, random_page_cost="2"), measured(service, agent, jit="off")
    service.take("POST", f"/v1/recommendations/{second['id']}/rollback")
    directive = agent.directive() or {}
    agent.apply(directive["settings"])
    agent.send(agent.report(outcomes=[agent.outcome(directive, "applied")]))
    assert [look(service, r)["state"] for r in (first, second, third)] == ["confirmed", "reverted", "reverted"]
    assert look(service, third)["error"] == f"undone by the rollback of {second['id']}"


def test_a_rollback_leaves_out_what_the_server_no_longer_reports(service: Service, agent: Agent) -> None:
    agent.send()
    made = measured(service, agent, work_mem="8MB")
    del agent.settings["effective_io_concurrency"]
    agent.send()
    service.take("POST", f"/v1/recommendations/{made['id']}/rollback")
    settings = (agent.directive() or {})["settings"]
    assert settings["work_mem"] == 4096
    assert "effective_io_concurrency" not in settings


def test_a_rollback_pauses_the_automatic_session_that_is_open(service: Service, agent: Agent) -> None:
    agent.send()
    made = measured(service, agent, work_mem="8MB")
    wish = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "lab", "approval": "automatic", "max_trials": 5}
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", wish)
    assert agent.next_directive()
    service.take("POST", f"/v1/recommendations/{made['id']}/rollback")
    found = service.take("GET", f"/v1/sessions/{session['id']}")
    assert (found["state"], found["message"]) == ("paused", f"paused by the rollback of {made['id']}")
