from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner
from lutra_client.commands.assistants import mcp


def test_without_its_library_the_command_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.stdio", None)
    done = CliRunner().invoke(mcp)
    assert done.exit_code == 1
    assert done.output == "Error: `lutra mcp` needs an extra: pip install 'lutra-client[mcp]'\n"
