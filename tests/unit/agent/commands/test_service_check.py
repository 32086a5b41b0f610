from __future__ import annotations

import pytest
from lutra_agent.commands.service_check import ask_service
from lutra_agent.config.types import ServiceConfig

from tests.support.servers.raw_server import answering, raw_server

GONE = b'{"code": "not_found", "detail": "there is no db_1"}'


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", "lutra_secret")


def test_a_service_that_knows_the_database_and_the_token_is_named() -> None:
    with raw_server(answering(b'{"id": "db_1"}')) as server:
        found = ask_service(ServiceConfig(server.url, "db_1"))
    assert (found.said, found.remedy) == (f"{server.url} knows the token and db_1", "")


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        ("404 Not Found", "set service.database to the id"),
        ("401 Unauthorized", "give the agent a token of this database"),
        ("403 Forbidden", "give the agent a token of this database"),
        ("500 Internal Server Error", "set service.url to where it answers"),
    ],
)
def test_a_token_or_a_database_that_the_service_does_not_know_is_named(status: str, remedy: str) -> None:
    with raw_server(answering(GONE, "Content-Type: application/problem+json", status=status)) as server:
        found = ask_service(ServiceConfig(server.url, "db_1"))
    assert status[:3] in found.said
    assert "there is no db_1" in found.said
    assert remedy in found.remedy
    assert "secret" not in found.said + found.remedy


def test_a_service_that_is_away_or_has_no_token_does_not_end_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    away = ask_service(ServiceConfig("http://127.0.0.1:9", "db_1"))
    assert "ConnectError" in away.said
    assert "http://127.0.0.1:9" in away.remedy
    monkeypatch.delenv("LUTRA_AGENT_TOKEN")
    without = ask_service(ServiceConfig("http://127.0.0.1:9", "db_1"))
    assert "not asked: no token" in without.said
    assert "set service.token_file" in without.remedy
