"""An engine that another package brings is tuned as ours are: by the commands that an operator runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lutra_models import extensions

from tests.support.agent.commands import agent_command
from tests.support.agent.processes import document, write_toml
from tests.support.servers.engines import scratch
from tests.support.servers.subjects import variables
from tests.support.service.served import Served

ENGINES = [kind.engine for kind in extensions.installed(extensions.SCRATCH_SERVERS)]
TRIALS = 4

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.thorough]


@pytest.mark.parametrize("engine", ENGINES)
def test_check_tune_and_rollback_work_for_it(engine: str, served: Served, tmp_path: Path) -> None:
    database = served.api.take("POST", "/v1/databases", {"name": "its own", "engine": engine})["id"]
    path = f"/v1/databases/{database}/tokens"
    token = served.api.take("POST", path, {"name": "its agent", "scopes": ["agent"]})["token"]
    with scratch(engine) as server:
        driver = {**server.load(1).driver, "warmup_s": 0, "duration_s": 0.2}
        sections = {"service": {"database": database}, "driver": driver}
        made = document(server, str(served.client.base_url).rstrip("/"), tmp_path / "state", **sections)
        file, before = write_toml(tmp_path / "agent.toml", made), variables(server)
        assert "nothing is missing" in agent_command("check", file, token)
        lines = agent_command(
            "tune", file, token, "--trials", str(TRIALS), "--verification-rounds", "3", "--seed", "5"
        ).splitlines()
        tuned = variables(server)
        agent_command("rollback", file, token, "--to", "baseline")
        assert variables(server) == before
    session = re.fullmatch(rf"session (\w+): {TRIALS} trials", lines[0])
    assert session is not None, lines
    found = served.api.take("GET", f"/v1/sessions/{session[1]}")
    assert (found["state"], found["trials_done"]) == ("completed", TRIALS)
    best = served.api.take("GET", f"/v1/recommendations/{found['handover']}")
    assert {n: type(v)(tuned[n]) for n, v in best["configuration"].items()} == best["configuration"]
    trials = served.api.take("GET", f"/v1/sessions/{session[1]}/trials")["items"]
    assert best["measured"]["qps"] > 0
    assert all(trial["measured"]["p99_ms"] > 0 for trial in trials)
    assert all(set(trial["predictions"]) == {"qps", "p99_ms"} for trial in trials[2:])
    assert "the same bits" in served.run("replay", trials[3]["recommendation"])
