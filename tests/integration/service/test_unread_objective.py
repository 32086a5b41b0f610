"""A real server of which no p99 can be read: what hinders clients is said first, and what needs none is proposed."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest
from lutra_lab.servers.errors import LabError

from tests.support.agent.processes import agent_process
from tests.support.servers.engines import scratch
from tests.support.service.hosted import Document
from tests.support.service.served import Served
from tests.support.waiting import until

pytestmark = pytest.mark.engine

SESSION = {"objective": {"metric": "p99_ms", "goal": "minimize"}, "mode": "reload_only"}


def test_where_every_commit_hangs_that_is_the_first_line_and_p99_is_waited_for_in_vain_by_nobody(
    served: Served,
) -> None:
    with scratch("postgresql") as server:
        shop = served.registered(server, "reload_only", {}, {})
        server.sql("CREATE TABLE orders (id int)")
        server.sql("ALTER SYSTEM SET synchronous_standby_names = 'dr1'")
        server.sql("SELECT pg_reload_conf()")

        def buy() -> None:
            with suppress(LabError):
                server.sql("INSERT INTO orders VALUES (1)")

        waiting = threading.Thread(target=buy, daemon=True)
        waiting.start()
        with agent_process(shop.file, shop.token):
            api = served.api

            def found() -> list[Document]:
                answer = api.ask("GET", f"{shop.path}/symptoms")
                return answer.json()["symptoms"] if answer.is_success else []

            until(lambda: "commits_wait_for_standby" in {s["name"] for s in found()})
            session = api.take("POST", f"{shop.path}/sessions", SESSION)["id"]
            made = api.take("POST", f"{shop.path}/recommendations", Prefer="wait=60")["id"]
            until(lambda: api.take("GET", f"/v1/recommendations/{made}")["state"] in ("unneeded", "proposed"))
            told = api.take("GET", f"/v1/sessions/{session}")["message"].split("\n")
            answer = api.take("GET", f"/v1/recommendations/{made}")["looked_at"]["sentence"].split("\n")
        assert told[0].startswith("Outage: Sessions that wait for a synchronous standby to confirm their commit: 1")
        assert "ALTER SYSTEM SET synchronous_standby_names = ''" in told[0]
        assert answer[0].startswith("Outage: Sessions that wait for a synchronous standby")
        assert "p99_ms is not read: " in answer[-1]
        assert "what is missing" not in answer[-1]
