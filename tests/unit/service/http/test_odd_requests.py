"""Requests that no client makes: each is refused, and none brings a 500, whatever store is behind."""

from __future__ import annotations

import pytest

from tests.support.service.asgi import ask
from tests.support.service.hosted import Agent, Service

ODD = ("\x00", "a\x00b", "\x1f", "\x7f", "\x85", "\ufffd", "x" * 300)
PATHS = (
    "/v1/databases/{}",
    "/v1/databases/{}/settings",
    "/v1/databases/{}/windows",
    "/v1/databases/{}/guardrails",
    "/v1/databases/{}/events",
    "/v1/databases/{}/tokens",
    "/v1/databases/{}/sessions",
    "/v1/databases/{}/recommendations",
    "/v1/sessions/{}",
    "/v1/sessions/{}/trials",
    "/v1/recommendations/{}",
)
QUERIES = ("after=%00", "after=a%00b", "state=%00", "metric=%00", "after=%ff", "after=%1b", "limit=%00", "a" * 5000)


def test_a_path_with_what_no_id_holds_is_not_found(service: Service) -> None:
    for path in PATHS:
        for odd in ODD:
            assert ask(service, "GET", path.format(odd), service.headers).status == 404, (path, odd)
    assert ask(service, "POST", "/v1/recommendations/\x00/approve", service.headers).status == 404


def test_a_query_with_what_no_cursor_holds_is_refused(service: Service, database: str) -> None:
    for path in ("windows", "events", "tokens", "sessions", "recommendations"):
        for query in QUERIES:
            asked = ask(service, "GET", f"/v1/databases/{database}/{path}?{query}", service.headers)
            assert (asked.status, asked.code) == (422, "invalid_request"), (path, query)


@pytest.mark.parametrize("after", ["9223372036854775808", "9" * 60, "²", "٣", "-1", "1.5", "1e3", "nan"])
def test_a_cursor_that_no_row_has_is_refused(service: Service, agent: Agent, after: str) -> None:
    agent.send()
    path = f"/v1/databases/{agent.database}/windows"
    answer = service.client.get(path, headers=service.headers, params={"after": after})
    assert answer.status_code == 422


@pytest.mark.parametrize("wait", ["²", "³", "¹", "-1", "1e9", "0x1", "", "9" * 400, "nan", "inf"])
def test_a_wait_that_is_no_number_is_none(service: Service, agent: Agent, wait: str) -> None:
    agent.send()
    path = f"/v1/databases/{agent.database}/directive"
    asked = ask(service, "GET", path, {**agent.headers, "prefer": f"wait={wait}"})
    assert asked.status == 204


@pytest.mark.parametrize("level", [0.9999999999999999, 0.99999999, 1, 0, -1, 1e-320, 5e-324])
def test_a_level_is_one_that_has_an_interval(service: Service, agent: Agent, level: float) -> None:
    agent.send()
    path = f"/v1/databases/{agent.database}/predictions"
    answer = service.ask("POST", path, {"settings": {"work_mem": "8MB"}, "level": level})
    assert answer.status_code == 422


def test_a_refused_method_names_one_that_is_allowed(service: Service) -> None:
    asked = ask(service, "PUT", "/v1/databases", service.headers)
    assert asked.status == 405
    assert asked.headers["allow"]


@pytest.mark.parametrize("length", ["-1", "+5", "1_0", "²", "9" * 26, "five"])
def test_a_length_that_is_none_is_refused(service: Service, length: str) -> None:
    asked = ask(service, "POST", "/v1/databases", {**service.headers, "content-length": length}, b"{}")
    assert (asked.status, asked.reads) == (400, 0)
