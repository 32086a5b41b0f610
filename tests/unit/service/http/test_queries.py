"""What a caller may write behind the question mark, and what every answer's headers say."""

from __future__ import annotations

from itertools import product

import pytest
from lutra_service.api.routes import ROUTERS, allowed_methods

from tests.support.service.application import first_application
from tests.support.service.hosted import Agent, Service

pytestmark = pytest.mark.slow

LISTS = ("recommendations", "sessions", "windows", "events", "tokens")


def test_an_unknown_query_parameter_is_refused_by_its_name(service: Service, database: str) -> None:
    for path in ("", f"/{database}", *(f"/{database}/{name}" for name in (*LISTS, "settings", "guardrails"))):
        response = service.ask("GET", f"/v1/databases{path}?sinec=yesterday")
        assert (response.status_code, response.json()["code"]) == (422, "invalid_request")
        assert "sinec" in response.json()["detail"]


def test_the_refusal_of_a_query_parameter_names_the_known_ones(service: Service, database: str) -> None:
    told = service.ask("GET", f"/v1/databases/{database}/windows?sinec=x&metric=qps").json()["detail"]
    known = "known here: after, limit, metric, since, until"
    assert told == f"unknown query parameter 'sinec' (did you mean since?); {known}"
    told = service.ask("POST", f"/v1/databases/{database}/recommendations?wait=5").json()["detail"]
    assert told == "unknown query parameter 'wait'; this call takes none"


def test_who_has_no_token_learns_nothing_of_parameters(service: Service) -> None:
    assert service.client.get("/v1/databases?bogus=1").status_code == 401


def test_every_route_below_v1_refuses_unknown_parameters() -> None:
    for path, methods in first_application().openapi()["paths"].items():
        for operation in methods.values():
            assert path.startswith("/v1/") is ("422" in operation["responses"]), path


def test_a_cursor_of_no_page_is_refused_everywhere(service: Service, database: str) -> None:
    lists = ["", *(f"/{database}/{name}" for name in LISTS)]
    cursors = ("bogus", "9223372036854775808", "%00", "win_99999999999999999999", "db_0")
    for list_, cursor in product(lists, cursors):
        path = f"/v1/databases{list_}?after={cursor}"
        assert service.code("GET", path) == (422, "invalid_request"), path


def test_the_cursor_of_another_list_is_refused(service: Service, database: str) -> None:
    assert service.code("GET", f"/v1/databases/{database}/sessions?after={database}") == (422, "invalid_request")


def test_a_state_that_does_not_exist_is_refused(service: Service, database: str) -> None:
    path = f"/v1/databases/{database}/recommendations?state="
    assert service.code("GET", f"{path}foo") == (422, "invalid_request")
    assert service.take("GET", f"{path}proposed")["items"] == []


def test_a_method_that_a_path_does_not_have_is_told_the_ones_that_it_has(service: Service, database: str) -> None:
    response = service.ask("PUT", f"/v1/databases/{database}")
    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
    assert response.headers["allow"] == "DELETE, GET, PATCH"
    assert service.ask("HEAD", f"/v1/databases/{database}/guardrails").headers["allow"] == "GET, PUT"


def test_the_methods_of_every_path_are_known() -> None:
    for router in ROUTERS:
        for route in router.routes:
            assert route.methods <= set(allowed_methods(route.path_format))  # type: ignore[attr-defined]
    assert allowed_methods("/nowhere") == []


def test_answers_are_not_stored_and_not_guessed_at(service: Service) -> None:
    for path in ("databases", "nowhere", "databases?bogus=1", "recommendations/rec_x"):
        headers = service.ask("GET", f"/v1/{path}").headers
        assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store"), path


def test_answers_to_bodies_that_were_refused_carry_the_same_headers(service: Service) -> None:
    headers = service.client.post("/v1/databases", content=b"{", headers=service.headers).headers
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")


def test_databases_are_found_by_name(service: Service) -> None:
    shop, _ = service.database("shop"), service.database("shop 2")
    assert [d["id"] for d in service.take("GET", "/v1/databases?name=shop")["items"]] == [shop]
    assert service.take("GET", "/v1/databases?name=nowhere")["items"] == []


def test_windows_are_found_by_time(service: Service, agent: Agent, database: str) -> None:
    for qps in (1.0, 2.0, 3.0):
        agent.send(agent.report(**agent.window(qps=qps)))
    path = f"/v1/databases/{database}/windows"
    third, second, first = service.take("GET", path)["items"]

    def found(**query: str) -> list[float]:
        page = service.client.get(path, params=query, headers=service.headers).json()
        return [w["metrics"]["qps"] for w in page["items"]]

    assert found(since=second["end"]) == [3.0]
    assert found(until=second["start"]) == [1.0]
    assert found(since=first["end"], until=third["start"]) == [2.0]
    assert found(since="2000-01-01T00:00:00+02:00") == [3.0, 2.0, 1.0]


def test_a_moment_that_is_none_is_refused(service: Service, database: str) -> None:
    path = f"/v1/databases/{database}/windows"
    for moment in NO_MOMENTS:
        response = service.client.get(path, params={"since": moment}, headers=service.headers)
        assert (response.status_code, response.json()["code"]) == (422, "invalid_request"), moment
        assert "since" in response.json()["detail"]


NO_MOMENTS = (
    "yesterday",
    "2026-13-01",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
)


def test_a_window_names_itself_as_everything_else_does(service: Service, agent: Agent, database: str) -> None:
    agent.send(agent.report(**agent.window(qps=1.0)))
    (window,) = service.take("GET", f"/v1/databases/{database}/windows")["items"]
    assert window["id"].startswith("win_")
