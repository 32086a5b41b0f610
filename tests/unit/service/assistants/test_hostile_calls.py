"""Hundreds of calls that an assistant under somebody else's orders may make: each is refused, and nothing changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lutra_service.api.http import entry
from lutra_service.edge.limits import Rate
from mcp import MCPError

from tests.support.service.assistants import call, talk, token, told
from tests.support.service.hosted import Service, applied, running
from tests.support.service.hostile_calls import NO_MESSAGES, calls, everything, of_another, refusals

pytestmark = pytest.mark.slow
LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
PLAIN = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@pytest.fixture
def service(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """Whatever is asked is refused for itself, and not because so much is asked."""
    monkeypatch.setattr(entry, "TOOL_CALLS_PER_S", 1e6)
    with running(tmp_path, url, requests_per_s=1e6, sweep_s=3600.0) as service:
        yield service


def test_hostile_calls_change_nothing_and_each_is_an_error_of_the_protocol(service: Service, url: str) -> None:
    database = service.database()
    made = applied(service, service.agent(database))
    objective = {"objective": {"metric": "p99_ms", "goal": "minimize"}}
    session = service.take("POST", f"/v1/databases/{database}/sessions", objective)["id"]
    waiting = service.take("POST", f"/v1/databases/{database}/recommendations", {"settings": {"work_mem": "12MB"}})
    tokens = [token(service, "propose"), token(service, "admin"), token(service, "read")]
    bound = token(service, "propose", service.database("other"))
    hostile = list(calls(database, waiting["id"], session))
    elsewhere = list(of_another(database, made["id"], session))
    assert len(hostile) + len(elsewhere) >= 300
    before = everything(url)
    shares = [(tokens[0], hostile), (tokens[1], hostile[::5]), (tokens[2], hostile[::7]), (bound, elsewhere)]
    for secret, asked in shares:
        assert talk(service, secret, lambda client, asked=asked: refusals(client, asked)) == []
    assert everything(url) == before
    assert database in {d["id"] for d in told(call(service, tokens[0], "fleet"))["databases"]}


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:8000", ""])
def test_no_page_in_a_browser_is_answered(service: Service, origin: str) -> None:
    """A page that gave its own name the address of this host sends both names."""
    headers = {**service.headers, **PLAIN, "origin": origin, "host": "evil.example"}
    answer = service.client.post("/mcp", content=LIST, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert "access-control-allow-origin" not in answer.headers


def test_what_is_no_message_of_the_protocol_is_refused_and_changes_nothing(service: Service, url: str) -> None:
    service.database()
    headers = {**service.headers, **PLAIN}
    assert service.client.post("/mcp", content=LIST, headers=headers).status_code == 200
    before = everything(url)
    for message in NO_MESSAGES:
        answer = service.client.post("/mcp", content=message, headers=headers)
        assert 200 <= answer.status_code < 500, message[:80]
        assert answer.status_code == 202 or "error" in answer.json() or answer.json()["code"], message[:80]
    for more in ({"mcp-session-id": "7" * 32}, {"mcp-protocol-version": "1999-01-01"}, {"host": "evil.example"}):
        assert service.client.post("/mcp", content=LIST, headers={**headers, **more}).status_code < 500, more
    for method in ("GET", "DELETE", "PUT", "OPTIONS"):
        assert service.client.request(method, "/mcp", headers=headers).status_code == 405
    assert everything(url) == before


def test_a_refused_call_is_an_entry_of_the_audit_trail_and_a_flood_of_them_is_not(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    app: Any = service.client
    monkeypatch.setattr(app.app.state.entry, "_refusals", Rate(1 / 60, lambda: 0.0, burst_s=300.0))
    database = service.database()
    mine = token(service, "read", service.database("other"))
    with pytest.raises(MCPError):
        call(service, mine, "propose", database=database)
    with pytest.raises(MCPError):
        call(service, mine, "Approve\n", database=database)
    assert call(service, mine, "database", database="db_/../approve").is_error
    assert call(service, mine, "database", database=database).is_error
    entries = service.take("GET", "/v1/audit?action=tool.refuse")["items"]
    assert [(e["target"], e["after"]["refused"]) for e in entries] == [
        ("database", "forbidden"),
        ("database", "invalid_arguments"),
        ("unknown", "no_such_tool"),
        ("propose", "no_such_tool"),
    ]
    assert {e["token_name"] for e in entries} == {"an assistant: read"}
    for _ in range(10):
        assert call(service, mine, "database", database="..").is_error
    assert len(service.take("GET", "/v1/audit?action=tool.refuse")["items"]) == 5
