"""Who did what to what: one entry for each change, in the transaction that made it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.routing import APIRoute
from lutra_service.api.routes import ROUTERS
from lutra_service.app.access import audit
from lutra_service.app.retention.policy import prune

from tests.support.service import assistants
from tests.support.service.hosted import Agent, Document, Service, applied, approved, guard_event, look

pytestmark = pytest.mark.slow

UNAUDITED = {"POST /v1/databases/{database}/reports", "POST /v1/databases/{database}/predictions"}
"""Reports are kept whole, and a prediction changes nothing."""
SESSION = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "reload_only"}


class Walk:
    """Makes each call that changes something, and what has to be there before it."""

    def __init__(self, service: Service, agent: Agent) -> None:
        self.service, self.agent = service, agent
        self.database = f"/v1/databases/{agent.database}"

    def post(self, path: str, body: Any = None) -> Document:
        made: Document = self.service.take("POST", path, body)
        return made

    def proposed(self, approve: bool = False) -> str:
        wish = {"settings": {"work_mem": "8MB"}, "approve": approve}
        return f"/v1/recommendations/{self.post(f'{self.database}/recommendations', wish)['id']}"

    def session(self) -> str:
        return f"/v1/sessions/{self.post(f'{self.database}/sessions', SESSION)['id']}"

    def bound(self) -> str:
        return f"{self.database}/tokens/{self.post(f'{self.database}/tokens', {'name': 'x', 'scopes': ['read']})['id']}"

    def unbound(self) -> str:
        return f"/v1/tokens/{self.post('/v1/tokens', {'name': 'x', 'scopes': ['read']})['id']}"

    def register_database(self) -> None:
        self.service.database("another")

    def change_database(self) -> None:
        self.service.take("PATCH", self.database, {"policy": {"pins": {"work_mem": "4MB"}}})

    def create_token(self) -> None:
        self.bound()

    def call_tool(self) -> None:
        assistants.call(self.service, self.service.headers["Authorization"].removeprefix("Bearer "), "fleet")

    def create_enrolment(self) -> Document:
        return self.post(f"{self.database}/enrolments")

    def enrol(self) -> None:
        self.service.as_bearer(self.create_enrolment()["token"]).take("POST", "/v1/enrolments")

    def revoke_token(self) -> None:
        self.service.take("DELETE", self.bound())

    def rotate_token(self) -> None:
        self.post(f"{self.bound()}/rotate")

    def create_global_token(self) -> None:
        self.unbound()

    def revoke_any_token(self) -> None:
        self.service.take("DELETE", self.unbound())

    def rotate_any_token(self) -> None:
        self.post(f"{self.unbound()}/rotate")

    def retire_database(self) -> None:
        self.service.take("PUT", f"{self.database}/retired")

    def unretire_database(self) -> None:
        self.retire_database()
        self.service.take("DELETE", f"{self.database}/retired")

    def accept_symptom(self) -> str:
        path = f"{self.database}/symptoms/accepted/row_locks"
        until = (datetime.now(UTC) + timedelta(days=7)).isoformat()
        self.service.take("PUT", path, {"because": "a counter that will be split", "until": until})
        return path

    def withdraw_symptom(self) -> None:
        self.service.take("DELETE", self.accept_symptom())

    def delete_database(self) -> None:
        self.retire_database()
        self.service.take("DELETE", self.database)

    def set_guardrails(self) -> None:
        self.service.take("PUT", f"{self.database}/guardrails", {"guardrails": {"p99": {"limit": 1.5, "hold_s": 60}}})

    def set_maintenance_windows(self) -> None:
        self.service.take("PUT", f"{self.database}/maintenance-windows", {"windows": []})

    def ask(self) -> None:
        self.proposed()

    def approve(self) -> None:
        self.post(f"{self.proposed()}/approve")

    def reject(self) -> None:
        self.post(f"{self.proposed()}/reject")

    def rollback(self) -> None:
        self.post(f"{self.proposed(approve=True)}/rollback")

    def open_session(self) -> None:
        self.session()

    def pause(self) -> None:
        self.post(f"{self.session()}/pause")

    def resume(self) -> None:
        path = self.session()
        self.post(f"{path}/pause")
        self.post(f"{path}/resume")

    def stop(self) -> None:
        self.post(f"{self.session()}/stop")

    def model(self, surrogate: str = "numpy") -> str:
        options = {"surrogate": {"name": surrogate}}
        return f"/v1/models/{self.post('/v1/models', {'name': 'x', 'options': options})['id']}"

    def promote(self) -> None:
        self.post(f"{self.model()}/promote")

    def roll_back(self) -> None:
        self.promote()
        self.post("/v1/models/rollback")

    def retire(self) -> None:
        self.post(f"{self.model()}/retire")

    def score(self) -> None:
        self.post(f"{self.model('toygp')}/score")

    def shadow(self) -> None:
        self.service.take("PUT", f"{self.model()}/shadow")

    def receiver(self) -> str:
        made = {"name": "on call", "kind": "webhook", "target": "https://hooks.example.com/x"}
        return f"/v1/receivers/{self.post('/v1/receivers', made)['id']}"

    def change_receiver(self) -> None:
        self.service.take("PATCH", self.receiver(), {"kinds": ["guard"]})

    def delete_receiver(self) -> None:
        self.service.take("DELETE", self.receiver())

    def test_receiver(self) -> None:
        self.post(f"{self.receiver()}/test")

    def unshadow(self) -> None:
        path = self.model()
        self.service.take("PUT", f"{path}/shadow")
        self.service.take("DELETE", f"{path}/shadow")


DB, TOKEN, REC, SESSION_PATH, MODEL, RECEIVER = (
    "/v1/databases/{database}",
    "/v1/tokens/{token}",
    "/v1/recommendations/{recommendation}",
    "/v1/sessions/{session}",
    "/v1/models/{model}",
    "/v1/receivers/{receiver}",
)
CALLS = {
    "POST /mcp": (Walk.call_tool, "tool.call"),
    "POST /v1/databases": (Walk.register_database, "database.register"),
    f"PATCH {DB}": (Walk.change_database, "database.policy"),
    f"PUT {DB}/retired": (Walk.retire_database, "database.retire"),
    f"DELETE {DB}/retired": (Walk.unretire_database, "database.unretire"),
    f"DELETE {DB}": (Walk.delete_database, "database.delete"),
    f"PUT {DB}/symptoms/accepted/{{symptom}}": (Walk.accept_symptom, "symptom.accept"),
    f"DELETE {DB}/symptoms/accepted/{{symptom}}": (Walk.withdraw_symptom, "symptom.withdraw"),
    f"POST {DB}/tokens": (Walk.create_token, "token.create"),
    f"POST {DB}/enrolments": (Walk.create_enrolment, "enrolment.create"),
    "POST /v1/enrolments": (Walk.enrol, "enrolment.use"),
    f"DELETE {DB}/tokens/{{token}}": (Walk.revoke_token, "token.revoke"),
    f"POST {DB}/tokens/{{token}}/rotate": (Walk.rotate_token, "token.rotate"),
    "POST /v1/tokens": (Walk.create_global_token, "token.create"),
    f"DELETE {TOKEN}": (Walk.revoke_any_token, "token.revoke"),
    f"POST {TOKEN}/rotate": (Walk.rotate_any_token, "token.rotate"),
    f"PUT {DB}/guardrails": (Walk.set_guardrails, "guardrails.set"),
    f"PUT {DB}/maintenance-windows": (Walk.set_maintenance_windows, "windows.set"),
    f"POST {DB}/recommendations": (Walk.ask, "recommendation.ask"),
    f"POST {REC}/approve": (Walk.approve, "recommendation.approve"),
    f"POST {REC}/reject": (Walk.reject, "recommendation.reject"),
    f"POST {REC}/rollback": (Walk.rollback, "recommendation.rollback"),
    f"POST {DB}/sessions": (Walk.open_session, "session.open"),
    f"POST {SESSION_PATH}/pause": (Walk.pause, "session.pause"),
    f"POST {SESSION_PATH}/resume": (Walk.resume, "session.resume"),
    f"POST {SESSION_PATH}/stop": (Walk.stop, "session.stop"),
    "POST /v1/models": (Walk.model, "model.register"),
    "POST /v1/models/rollback": (Walk.roll_back, "model.rollback"),
    f"POST {MODEL}/promote": (Walk.promote, "model.promote"),
    f"POST {MODEL}/retire": (Walk.retire, "model.retire"),
    f"POST {MODEL}/score": (Walk.score, "model.score"),
    f"PUT {MODEL}/shadow": (Walk.shadow, "model.shadow"),
    f"DELETE {MODEL}/shadow": (Walk.unshadow, "model.shadow"),
    "POST /v1/receivers": (Walk.receiver, "receiver.create"),
    f"PATCH {RECEIVER}": (Walk.change_receiver, "receiver.change"),
    f"DELETE {RECEIVER}": (Walk.delete_receiver, "receiver.delete"),
    f"POST {RECEIVER}/test": (Walk.test_receiver, "receiver.test"),
}


def changing() -> list[str]:
    """Every route of the service that may change something."""
    routes = [r for router in ROUTERS for r in router.routes if isinstance(r, APIRoute)]
    found = {f"{method} {r.path}" for r in routes for method in r.methods - {"GET", "HEAD"}}
    return sorted(found - UNAUDITED)


def entries(service: Service, path: str = "/v1/audit?limit=500") -> list[Document]:
    found: list[Document] = service.take("GET", path)["items"]
    return found


@pytest.mark.parametrize("route", changing())
def test_each_call_that_changes_something_leaves_an_entry(service: Service, database: str, route: str) -> None:
    agent = service.agent(database, mode="reload_only")
    agent.send()
    before = {e["id"] for e in entries(service)}
    call, action = CALLS[route]
    call(Walk(service, agent))
    new = [e for e in entries(service) if e["id"] not in before]
    (entry, *_) = [e for e in new if e["action"] == action]
    actor = "an enrolment" if action == "enrolment.use" else "test"
    assert (entry["token_name"], entry["token"].startswith("tok_")) == (actor, True)
    assert entry["target"]


def test_a_policy_is_kept_as_it_was_and_as_it_became(service: Service, database: str) -> None:
    service.take("PATCH", f"/v1/databases/{database}", {"policy": {"pins": {"work_mem": "4MB"}}})
    (entry,) = entries(service, f"/v1/databases/{database}/audit?action=database.policy")
    assert (entry["before"]["policy"]["pins"], entry["after"]["policy"]["pins"]) == ({}, {"work_mem": "4MB"})
    assert (entry["database"], entry["target"]) == (database, database)


def test_what_was_refused_leaves_no_entry(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    before = len(entries(service))
    path = f"/v1/databases/{database}"
    assert service.code("PATCH", path, {"policy": {"pins": {"work_mem": "four"}}})[0] == 422
    assert len(entries(service)) == before


def test_what_the_service_decides_by_itself_says_so(service: Service, database: str) -> None:
    agent = service.agent(database, mode="reload_only")
    agent.send()
    made = approved(service, agent, work_mem="8MB")
    directive = agent.directive() or {}
    service.take("POST", f"/v1/recommendations/{made['id']}/reject")
    agent.apply(directive["settings"])
    agent.send(agent.report(outcomes=[agent.outcome(directive, "applied")]))
    path = f"/v1/databases/{database}/audit?action=recommendation."
    (back,) = entries(service, f"{path}rollback")
    assert (back["token"], back["token_name"]) == (None, "service")
    assert back["after"]["by"] == look(service, made)["withdrawn_by"]
    (rejected,) = entries(service, f"{path}reject")
    assert rejected["token_name"] == "test"
    assert rejected["after"]["changes"]["work_mem"] == ["4MB", "8MB"]


def told_of(service: Service, database: str, action: str) -> Document:
    (entry,) = entries(service, f"/v1/databases/{database}/audit?action={action}")
    return entry


def test_what_happened_on_the_server_is_told_with_settings_values_and_who(
    service: Service, agent: Agent, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    made = applied(service, agent)
    for _ in range(4):
        agent.send(agent.report(**agent.window(p99_ms=40.0)))
    agent.send(agent.report(outcomes=[agent.outcome({"id": made["id"]}, "confirmed")]))
    fired = guard_event(agent, made)
    reverted = agent.outcome({"id": made["id"]}, "reverted", code="guardrail", message="p99: worse")
    with caplog.at_level("INFO"):
        for _ in range(2):  # an agent that was killed in between tells it again
            agent.send(agent.report(events=[fired], outcomes=[reverted]))
    there, back = {"work_mem": ["4MB", "8MB"]}, {"work_mem": ["8MB", "4MB"]}
    name = f"agent {agent.name}"
    for action, who, changes in (
        ("recommendation.apply", name, there),
        ("recommendation.confirm", name, there),
        ("recommendation.revert", "guard p99", back),
        ("guard.fire", "guard p99", back),
    ):
        entry = told_of(service, database, action)
        assert (entry["token_name"], entry["after"]["changes"]) == (who, changes), action
        assert (entry["token"], entry["request_id"] != "") == (None, True)
    assert f"shop: {made['id']}: reverted by guard p99: work_mem 8MB → 4MB: guardrail: p99: worse" in caplog.messages
    assert f"shop: the guard fired: {fired['message']}; it undoes work_mem 8MB → 4MB" in caplog.messages
    found = look(service, made)
    assert (found["decided_by_name"], found["undone_by"]) == ("test", "guard p99")
    assert all(found[name] for name in ("applied_at", "confirmed_at", "ended_at"))
    assert "undone_by" not in found["outcome"]


def test_an_undo_names_the_token_that_asked_for_it(service: Service, agent: Agent, database: str) -> None:
    made = applied(service, agent)
    back = service.take("POST", f"/v1/recommendations/{made['id']}/rollback", {"reason": "reports are slower"})
    directive = agent.next_directive()
    assert directive["id"] == back["id"]
    agent.apply(directive["settings"])
    agent.send(agent.report(outcomes=[agent.outcome(directive, "applied")]))
    entry = told_of(service, database, "recommendation.revert")
    assert (entry["token_name"], entry["after"]["why"]) == ("test", "reports are slower")
    assert look(service, made)["undone_by"] == "test"


def test_a_rollback_on_the_host_is_told_and_names_what_it_set_back(
    service: Service, agent: Agent, database: str
) -> None:
    made = applied(service, agent)
    settings = {"work_mem": {"before": 8192, "after": 4096}}
    told = {"target": "baseline", "at": agent.clock.isoformat(), "reason": "3 a.m.", "settings": settings}
    agent.apply({"work_mem": 4096})
    agent.send(agent.report(rolled_back=[told]))
    entry = told_of(service, database, "host.rollback")
    assert (entry["token_name"], entry["after"]["settings"]) == ("an operator on the host", settings)
    assert look(service, made)["undone_by"] == "an operator on the host"
    assert told_of(service, database, "recommendation.revert")["after"]["changes"] == {"work_mem": ["8MB", "4MB"]}


def test_what_was_done_since_a_moment_is_listed_alone(service: Service, agent: Agent, database: str) -> None:
    made = applied(service, agent)
    service.store.write(lambda u: u.audit.change(entries(service)[-1]["id"], at=u.now - timedelta(days=9)))
    yesterday = quote((datetime.now(UTC) - timedelta(days=1)).isoformat())
    tomorrow = quote((datetime.now(UTC) + timedelta(days=1)).isoformat())
    every = len(entries(service))
    assert len(entries(service, f"/v1/audit?limit=500&since={yesterday}")) == every - 1
    assert entries(service, f"/v1/databases/{database}/audit?since={tomorrow}") == []
    path = f"/v1/databases/{database}/recommendations?since="
    assert [r["id"] for r in service.take("GET", f"{path}{yesterday}")["items"]] == [made["id"]]
    assert service.take("GET", f"{path}{tomorrow}")["items"] == []


def test_the_trail_of_a_database_is_its_operators_and_the_whole_is_the_administrators(
    service: Service, agent: Agent, database: str
) -> None:
    tokens = f"/v1/databases/{database}/tokens"
    bound = {
        scope: service.as_bearer(service.take("POST", tokens, {"name": scope, "scopes": [scope]})["token"])
        for scope in ("read", "operate", "admin")
    }
    path = f"/v1/databases/{database}/audit"
    assert bound["operate"].take("GET", path)["items"]
    for one in (bound["read"], agent):
        assert one.code("GET", path) == (403, "forbidden")
    for one in (*bound.values(), agent):
        assert one.code("GET", "/v1/audit") == (403, "forbidden")
    other = service.database("other")
    assert bound["operate"].code("GET", f"/v1/databases/{other}/audit") == (403, "forbidden")
    assert service.code("GET", "/v1/databases/db_none/audit") == (404, "not_found")


def test_the_trail_is_paged_newest_first_and_holds_no_secret(service: Service, database: str) -> None:
    secrets = [service.take("POST", "/v1/tokens", {"name": f"t{i}", "scopes": ["read"]})["token"] for i in range(5)]
    first = service.take("GET", "/v1/audit?limit=2&action=token.create")
    second = service.take("GET", f"/v1/audit?limit=2&action=token.create&after={first['next']}")
    names = [e["after"]["name"] for page in (first, second) for e in page["items"]]
    assert names == ["t4", "t3", "t2", "t1"]
    text = service.ask("GET", "/v1/audit?limit=500").text
    assert not any(secret in text for secret in secrets)


def test_an_entry_is_no_larger_than_its_bound(service: Service, database: str) -> None:
    def write(unit: Any) -> None:
        large = {f"setting_{i}": "x" * 5000 for i in range(300)}
        audit.record(unit, "database.policy", database, large, {"text": "y" * 5000}, database_id=database)

    service.store.write(write)
    (entry,) = entries(service, "/v1/audit?action=database.policy")
    assert entry["before"]["too_large"] is True
    assert len(entry["before"]["parts"]) == 100
    assert len(entry["after"]["text"]) == audit.LONGEST_TEXT


def test_entries_are_kept_for_thirteen_months_however_short_the_windows_are(
    service: Service, agent: Agent, database: str
) -> None:
    agent.send()
    newest, *_, oldest = entries(service)
    service.store.write(lambda u: u.audit.change(oldest["id"], at=u.now - audit.KEPT - timedelta(minutes=1)))
    prune(service.store, timedelta(seconds=1))  # the service's own pruning may have come before
    kept = [e["id"] for e in entries(service)]
    assert (newest["id"] in kept, oldest["id"] in kept) == (True, False)


def test_old_entries_are_deleted_a_batch_at_a_time(service: Service, database: str) -> None:
    count = len(entries(service))
    assert service.store.write(lambda u: u.audit.delete_audit(u.now - timedelta(days=1))) == 0
    assert service.store.write(lambda u: u.audit.delete_audit(u.now + timedelta(days=1))) == count
    assert entries(service) == []
