"""Nothing of a body is read before it is known who sends it, and that they may."""

from __future__ import annotations

import gzip
import json
import threading
from typing import Any

import pytest
from fastapi import APIRouter
from lutra_models.wire import Report
from lutra_service.api import routes
from lutra_service.api.http import entry
from lutra_service.api.http.access import allow, declared
from lutra_service.api.http.route import GuardedRoute
from lutra_service.app.databases import registration
from lutra_service.common.actor import Actor, current_actor
from lutra_service.edge.bodies import MAX_MARKS

from tests.support.service.asgi import Asked, ask
from tests.support.service.direct import Direct
from tests.support.service.hosted import Agent, Service

MADE_UP = "Bearer lutra_" + "x" * 43
BOMB = gzip.compress(b"[" + b"[]," * (5 << 20) + b"[]]")
PACKED = {"content-encoding": "gzip"}


def bomb(service: Service, path: str, authorization: str | None, method: str = "POST") -> Asked:
    given = {} if authorization is None else {"authorization": authorization}
    return ask(service, method, path, {**PACKED, **given}, BOMB)


def token(service: Service, database: str, *scopes: str) -> str:
    made = service.take("POST", f"/v1/databases/{database}/tokens", {"name": "t", "scopes": scopes})
    return f"Bearer {made['token']}"


@pytest.mark.parametrize(
    "given", [None, "", "Basic bHV0cmE=", "Bearer another", "Bearer lutra_x", MADE_UP, MADE_UP + "x", "lutra"]
)
def test_nothing_is_read_of_somebody_without_a_valid_token(service: Service, database: str, given: str | None) -> None:
    asked = bomb(service, f"/v1/databases/{database}/reports", given)
    assert (asked.status, asked.reads) == (401, 0)


def test_nothing_is_read_of_a_revoked_token(service: Service, database: str) -> None:
    made = service.take("POST", f"/v1/databases/{database}/tokens", {"name": "t", "scopes": ["agent"]})
    service.take("DELETE", f"/v1/databases/{database}/tokens/{made['id']}")
    asked = bomb(service, f"/v1/databases/{database}/reports", f"Bearer {made['token']}")
    assert (asked.status, asked.reads) == (401, 0)


def test_nothing_is_read_for_another_database_or_without_the_scope(service: Service, database: str) -> None:
    other = service.database("other")
    reports = f"/v1/databases/{database}/reports"
    assert [
        (asked.status, asked.reads)
        for asked in (
            bomb(service, reports, token(service, other, "agent")),
            bomb(service, reports, token(service, database, "read")),
            bomb(service, reports, service.headers["Authorization"]),
            bomb(service, f"/v1/databases/{database}/sessions", token(service, database, "read")),
            bomb(service, "/v1/databases", token(service, database, "operate")),
        )
    ] == [(403, 0)] * 5


def test_nothing_is_read_for_what_does_not_exist(service: Service, agent: Agent) -> None:
    admin, path = service.headers["Authorization"], f"/v1/databases/{agent.database}"
    assert [
        (asked.status, asked.reads)
        for asked in (
            bomb(service, "/v1/recommendations/rec_none/approve", admin),
            bomb(service, f"{path}/nothing", admin),
            bomb(service, f"{path}/reports", agent.headers["Authorization"], "PUT"),
            bomb(service, f"{path}/reports", agent.headers["Authorization"], "MADEUP"),
        )
    ] == [(404, 0), (404, 0), (405, 0), (405, 0)]


def test_a_token_that_has_no_tokens_form_is_not_even_looked_up(
    service: Service, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[object] = []
    monkeypatch.setattr(entry, "bearers", lambda *given: looked.append(given))
    for given in (None, "Bearer lutra_x", "Bearer " + "y" * 49, MADE_UP + "é"):
        assert bomb(service, f"/v1/databases/{database}/reports", given).status == 401
    assert looked == []


def test_every_route_says_who_may_call_it() -> None:
    guarded = [r for router in routes.ROUTERS for r in router.routes if isinstance(r, GuardedRoute)]
    assert all(declared(route.endpoint).scopes for route in guarded)
    others = {getattr(r, "path", "") for router in routes.ROUTERS for r in router.routes} - {r.path for r in guarded}
    assert others == {"/healthz", "/readyz", "/metrics"}


def test_a_route_that_does_not_say_who_may_call_it_cannot_be_made() -> None:
    router = APIRouter(route_class=GuardedRoute)
    with pytest.raises(TypeError, match="who may call it"):
        router.get("/v1/everything")(lambda: None)
    router.get("/v1/some")(allow("read", of="any")(lambda: None))


def test_a_bodys_values_are_counted_before_they_are_built(
    service: Service, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = _parsed(monkeypatch)
    asked = bomb(service, f"/v1/databases/{agent.database}/reports", agent.headers["Authorization"])
    assert (asked.status, asked.code, parsed) == (413, "too_large", [])


def test_a_flood_of_unknown_keys_is_refused_without_naming_each(service: Service, agent: Agent) -> None:
    object_ = json.dumps({f"k{n}": 0 for n in range(2000)}).encode()
    settings = b",".join(b'"s%d": %s' % (n, object_) for n in range(MAX_MARKS // 4100))
    body = (
        json.dumps(agent.report(settings=None))
        .encode()
        .replace(b'"settings": null', b'"settings": {' + settings + b"}")
    )
    asked = ask(service, "POST", f"/v1/databases/{agent.database}/reports", agent.headers, body)
    assert (asked.status, asked.code) == (422, "invalid_request")
    assert len(asked.body) < 1000


@pytest.mark.parametrize(("metrics", "beside"), [(1, False), (1500, True)])
def test_a_body_is_parsed_once_and_a_long_one_beside_the_loop_that_serves_everybody(
    service: Service, agent: Agent, monkeypatch: pytest.MonkeyPatch, metrics: int, beside: bool
) -> None:
    window = agent.window(**{f"counter_of_some_view_{n}": 1.0 for n in range(metrics)})
    body = json.dumps(agent.report(**window)).encode()
    parsed = _parsed(monkeypatch)
    asked = ask(
        service, "POST", f"/v1/databases/{agent.database}/reports", {**agent.headers, **PACKED}, gzip.compress(body)
    )
    assert asked.status == 200, asked.body
    (thread,) = parsed
    client = service.client
    assert isinstance(client, Direct)
    assert (thread is not client.portal.call(threading.current_thread)) == beside


def test_a_validated_body_is_not_validated_again() -> None:
    """FastAPI validates what `GuardedRoute` hands on: that is this very object, and costs nothing."""
    made = Report.model_construct()
    assert Report.model_validate(made) is made


@pytest.mark.parametrize(
    ("path", "plain", "status"),
    [("reports", 300_000, 422), ("sessions", 300_000, 413), ("sessions", 200_000, 422)],
)
def test_only_reports_may_be_large(service: Service, agent: Agent, path: str, plain: int, status: int) -> None:
    body = gzip.compress(json.dumps({f"f{n}": "x" * 60_000 for n in range(plain // 60_000)}).encode())
    headers = agent.headers if path == "reports" else service.headers
    assert ask(service, "POST", f"/v1/databases/{agent.database}/{path}", {**headers, **PACKED}, body).status == status


def test_a_request_is_the_same_one_whatever_host_it_names(service: Service) -> None:
    body, key = b'{"name": "shop", "engine": "postgresql"}', {**service.headers, "idempotency-key": "k"}
    asked = [ask(service, "POST", "/v1/databases", {**key, "host": host}, body) for host in ("a", "[::1", "x/y?z", "")]
    assert {(a.status, a.body) for a in asked} == {(201, asked[0].body)}


def test_no_answer_leads_to_the_host_that_a_request_names(service: Service) -> None:
    asked = ask(service, "GET", "/v1/databases/", {**service.headers, "host": "evil.example"})
    assert asked.status == 404
    assert "evil.example" not in f"{asked.headers}{asked.body!r}"


def _parsed(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads in which JSON was parsed, one for each time."""
    threads: list[threading.Thread] = []
    loads = json.loads

    def noted(*given: Any, **more: Any) -> Any:
        if len(given[0]) > 200 and isinstance(given[0], bytes):  # what a store parses is text
            threads.append(threading.current_thread())
        return loads(*given, **more)

    monkeypatch.setattr(json, "loads", noted)
    return threads


def test_a_token_is_known_by_its_name_where_something_is_done(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Actor] = []
    register = registration.register

    def noted(*given: Any) -> Any:
        seen.append(current_actor.get())
        return register(*given)

    monkeypatch.setattr(registration, "register", noted)
    asked = ask(service, "POST", "/v1/databases", service.headers, b'{"name": "shop", "engine": "postgresql"}')
    (actor,) = seen
    assert actor.token_id is not None
    assert actor.token_id.startswith("tok_")
    assert (actor.token_name, actor.address) == ("test", "192.0.2.7")
    assert actor.request_id == asked.headers["x-request-id"]
    assert current_actor.get() == Actor()
