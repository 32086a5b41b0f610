"""`lutra mcp`: the official client starts it and talks to a running service over stdin and stdout."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from lutra_client.assistants.marked import MARK
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store
from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.support.service.hosted import Service, applied
from tests.support.service.hostile_calls import NO_MESSAGES, calls, everything, refusals
from tests.support.service.served import LUTRA, Served

pytestmark = pytest.mark.slow
OBJECTIVE = {"objective": {"metric": "p99_ms", "goal": "minimize"}}
GREETING = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}


def started(served: Served, scope: str, tmp_path: Path, of: str = "/v1") -> StdioServerParameters:
    token = served.api.take("POST", f"{of}/tokens", {"name": "an assistant", "scopes": [scope]})["token"]
    place = {"LUTRA_URL": f"http://127.0.0.1:{served.port}", "LUTRA_TOKEN": token, "XDG_CONFIG_HOME": str(tmp_path)}
    return StdioServerParameters(command=str(LUTRA), args=["mcp"], env=place)


def test_an_assistant_talks_over_stdin_and_stdout(tmp_path: Path) -> None:
    with Served(tmp_path) as served:
        database = served.api.take("POST", "/v1/databases", {"name": "shop", "engine": "postgresql"})["id"]

        async def proposing() -> dict[str, Any]:
            async with Client(started(served, "propose", tmp_path)) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                answers = {"fleet": await client.call_tool("fleet", {})}
                for name in names:
                    answers.setdefault(name, await client.call_tool(name, {"database": database}))
                return answers

        async def reading() -> set[str]:
            async with Client(started(served, "read", tmp_path), mode="legacy") as client:
                with pytest.raises(MCPError, match="this token has no tool 'propose'"):
                    await client.call_tool("propose", {"database": database})
                return {tool.name for tool in (await client.list_tools()).tools}

        answers = anyio.run(proposing)
        assert set(answers) - anyio.run(reading) == {"propose", "open_session"}
        assert answers["fleet"].structured_content["data"]["databases"][0]["id"] == database
        assert {answer.structured_content["origin"] for answer in answers.values()} == {MARK}
        entries = served.api.take("GET", "/v1/audit?action=tool.call")["items"]
        assert {"fleet", "database", "findings"} <= {entry["target"] for entry in entries}


def test_each_token_sees_the_tools_of_its_scope_and_no_other_over_both_ways(tmp_path: Path) -> None:
    with Served(tmp_path) as served:

        async def names(client: Client) -> set[str]:
            return {tool.name for tool in (await client.list_tools()).tools}

        async def over_stdio(scope: str, of: str = "/v1") -> set[str]:
            async with Client(started(served, scope, tmp_path, of)) as client:
                return await names(client)

        async def over_http(scope: str) -> set[str]:
            env = started(served, scope, tmp_path).env or {}
            headers = {"Authorization": f"Bearer {env['LUTRA_TOKEN']}"}
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(f"http://127.0.0.1:{served.port}/mcp", http_client=http)) as client,
            ):
                return await names(client)

        reading, proposing = (anyio.run(over_stdio, scope) for scope in ("read", "propose"))
        assert proposing - reading == {"propose", "open_session"}
        assert len(reading) >= 10
        for scope, tools in (("read", reading), ("models", reading), ("operate", proposing), ("admin", proposing)):
            assert anyio.run(over_http, scope) == tools, scope
        database = served.api.take("POST", "/v1/databases", {"name": "shop", "engine": "postgresql"})["id"]
        assert anyio.run(over_stdio, "agent", f"/v1/databases/{database}") == set()


def test_hostile_calls_over_stdin_change_nothing(tmp_path: Path) -> None:
    with Served(tmp_path, LUTRA_SWEEP_S="3600") as served:
        store = Store(make_engine(served.env["LUTRA_DATABASE_URL"]))
        service = Service(served.client, store, served.token)
        database = service.database()
        made = applied(service, service.agent(database))
        session = service.take("POST", f"/v1/databases/{database}/sessions", OBJECTIVE)["id"]
        asked = {"settings": {"work_mem": "12MB"}}
        waiting = service.take("POST", f"/v1/databases/{database}/recommendations", asked)["id"]
        parameters = started(served, "propose", tmp_path)
        hostile = list(calls(database, waiting, session))
        before = everything(served.env["LUTRA_DATABASE_URL"])

        async def hostilely() -> tuple[list[Any], bool]:
            async with Client(parameters) as client:
                wrong = await refusals(client, hostile)
                async with anyio.create_task_group() as together:
                    for share in range(10):
                        together.start_soon(refusals, client, hostile[share::50])
                return wrong, (await client.call_tool("fleet", {})).is_error

        assert len(hostile) >= 300
        assert anyio.run(hostilely) == ([], False)
        with spoken(parameters) as process:
            assert process.stdin is not None
            for message in NO_MESSAGES:
                process.stdin.write(message + b"\n")
            process.stdin.write(b'{"jsonrpc":"2.0","id":"last","method":"ping"}\n')
            process.stdin.flush()
            assert process.stdout is not None
            assert any(json.loads(line).get("id") == "last" for line in process.stdout), "it lives, and answers"
        assert everything(served.env["LUTRA_DATABASE_URL"]) == before
        assert service.take("GET", f"/v1/recommendations/{made['id']}")["state"] == "applied"
        entries = service.take("GET", "/v1/audit?action=tool.refuse&limit=500")["items"]
        assert 20 <= len(entries) < 60, "however many calls there were"
        store.close()


@contextmanager
def spoken(parameters: StdioServerParameters) -> Iterator[subprocess.Popen[bytes]]:
    """`lutra mcp` behind pipes, greeted."""
    command = [parameters.command, *parameters.args]
    with subprocess.Popen(command, env=parameters.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(GREETING).encode() + b"\n")
        process.stdin.flush()
        assert b'"serverInfo"' in process.stdout.readline()
        process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        yield process
        process.stdin.close()


def test_without_a_token_it_says_so(tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin", "HOME": str(tmp_path)}
    done = subprocess.run([LUTRA, "mcp"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: there is no token for http://127.0.0.1:8000")
