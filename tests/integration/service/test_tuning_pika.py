"""A session of a few trials finds its way beyond a cliff: one setting without a restart, another one with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent.commands import agent_command
from tests.support.agent.processes import document, write_toml
from tests.support.data import pika_load
from tests.support.servers.engines import PIKAS, scratch
from tests.support.servers.subjects import variables
from tests.support.service.served import Served

TRIALS = 4
SMALL = "14045392"
DRIVER: dict[str, Any] = {
    "kind": "command",
    "command": [sys.executable, pika_load.__file__],
    "warmup_s": 0,
    "duration_s": 1,
}

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.thorough]


@pytest.mark.parametrize("pika", PIKAS)
@pytest.mark.parametrize("restart", [False, True], ids=["live alone", "with restarts"])
def test_a_session_finds_a_configuration_beyond_the_cliff(
    pika: str, restart: bool, served: Served, tmp_path: Path
) -> None:
    about = {"name": f"{pika} {restart}", "engine": "pika", "policy": {"restart": restart}}
    database = served.api.take("POST", "/v1/databases", about)["id"]
    path = f"/v1/databases/{database}/tokens"
    token = served.api.take("POST", path, {"name": "its agent", "scopes": ["agent"]})["token"]
    with scratch(pika, **{"max-write-buffer-size": SMALL}) as server:
        sections = {"service": {"database": database}, "driver": DRIVER}
        made = document(server, str(served.client.base_url).rstrip("/"), tmp_path / "state", **sections)
        file = write_toml(tmp_path / "agent.toml", made)
        line = agent_command(
            "tune", file, token, "--trials", str(TRIALS), "--verification-rounds", "3", "--seed", "5"
        ).splitlines()[0]
        tuned = variables(server)
    session = line.split()[1].rstrip(":")
    trials = served.api.take("GET", f"/v1/sessions/{session}/trials")["items"]
    assert [trial for trial in trials if not trial["measured"]] == []
    measured = [trial["measured"]["qps"] for trial in trials]
    assert (measured[0], max(measured)) == (pika_load.NEAR["qps"], pika_load.FAR["qps"])
    assert int(tuned["arena-block-size"]) < int(tuned["max-write-buffer-size"]) * 7 / 8
