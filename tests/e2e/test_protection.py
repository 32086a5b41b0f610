"""A real service, agent and server: a guard fires while the service is dead, and is told when it lives again."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from lutra_agent.lab.postgresql import ScratchPostgres

from tests.support.agents import agent_process, document, settings_of, until, write_toml
from tests.support.loads import loaded
from tests.support.served import Served

pytestmark = [pytest.mark.engine, pytest.mark.slow]

GUARDRAILS = {
    "qps": {"limit": 0.5, "hold_s": 3},
    "memory": {"limit": 0, "hold_s": 0, "enabled": False},
    "p99": {"limit": 0, "hold_s": 0, "enabled": False},
}
LONG = {"confirm_windows": 100, "confirm_s": 600}


def test_a_change_whose_throughput_falls_is_reverted_by_the_agent_and_shown_by_the_service(
    postgres18: ScratchPostgres, tmp_path: Path
) -> None:
    before = settings_of(postgres18)
    postgres18.psql("CREATE TABLE IF NOT EXISTS load (n int)")
    connection = psycopg.connect(postgres18.conninfo(), autocommit=True)
    with Served(tmp_path) as served:
        api = served.api
        database = api.take("POST", "/v1/databases", {"name": "shop", "engine": "postgresql"})["id"]
        path = f"/v1/databases/{database}"
        api.take("PUT", f"{path}/guardrails", {"guardrails": GUARDRAILS})
        made = api.take("POST", f"{path}/tokens", {"name": "its agent", "scopes": ["agent"]})
        url = f"http://127.0.0.1:{served.port}"
        where = {"database": database}
        toml = document(postgres18, url, tmp_path / "state", "reload_only", service=where, guard=LONG)
        with agent_process(write_toml(tmp_path / "agent.toml", toml), made["token"]):
            with loaded(lambda: connection.execute("INSERT INTO load VALUES (1)")):
                until(lambda: len(api.take("GET", f"{path}/windows")["items"]) >= 5)
                wanted = {"settings": {"work_mem": "8MB"}, "approve": True}
                change = f"/v1/recommendations/{api.take('POST', f'{path}/recommendations', wanted)['id']}"
                until(lambda: api.take("GET", change)["state"] == "applied")
                assert api.take("GET", change)["outcome"]["confirm_by"]
                served.kill()
            until(lambda: settings_of(postgres18) == before)
            served.start()
            until(lambda: api.take("GET", change)["state"] == "reverted")
            until(lambda: api.take("GET", f"{path}/events")["items"])
        found = api.take("GET", change)
        [event] = api.take("GET", f"{path}/events")["items"]
    assert found["error"].startswith("guardrail: qps:")
    assert (event["guard"], event["recommendation"]) == ("qps", found["id"])
    assert found["outcome"]["events"][0]["value"] == event["value"] < event["bound"]
