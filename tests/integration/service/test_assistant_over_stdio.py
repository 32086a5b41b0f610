"""`lutra mcp`: the official client starts it and talks to a running service over stdin and stdout."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
from lutra_client.assistants.marked import MARK
from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client

from tests.support.service.served import LUTRA, Served

pytestmark = pytest.mark.slow


def started(served: Served, scope: str, tmp_path: Path) -> StdioServerParameters:
    token = served.api.take("POST", "/v1/tokens", {"name": "an assistant", "scopes": [scope]})["token"]
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


def test_without_a_token_it_says_so(tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin", "HOME": str(tmp_path)}
    done = subprocess.run([LUTRA, "mcp"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: there is no token for http://127.0.0.1:8000")
