from __future__ import annotations

import pytest
from lutra_agent.commands.service_check import ask_service
from lutra_agent.config.types import ServiceConfig

from tests.support.raw_server import answering, raw_server

GONE = b'{"code": "not_found", "detail": "there is no db_1"}'


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", "lutra_secret")


def test_a_service_that_knows_the_database_and_the_token_is_named() -> None:
    with raw_server(answering(b'{"id": "db_1"}')) as server:
        assert ask_service(ServiceConfig(server.url, "db_1")) == f"{server.url} knows the token and db_1"


@pytest.mark.parametrize("status", ["404 Not Found", "401 Unauthorized", "403 Forbidden", "500 Internal Server Error"])
def test_a_token_or_a_database_that_the_service_does_not_know_is_named(status: str) -> None:
    with raw_server(answering(GONE, "Content-Type: application/problem+json", status=status)) as server:
        found = ask_service(ServiceConfig(server.url, "db_1"))
    assert status[:3] in found
    assert "there is no db_1" in found
    assert "secret" not in found


def test_a_service_that_is_away_or_has_no_token_does_not_end_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ConnectError" in ask_service(ServiceConfig("http://127.0.0.1:9", "db_1"))
    monkeypatch.delenv("LUTRA_AGENT_TOKEN")
    assert "not asked: no token" in ask_service(ServiceConfig("http://127.0.0.1:9", "db_1"))
