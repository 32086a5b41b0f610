"""A whole tuning session against a running service, its database being a function of its settings."""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.support.fakes.tasks import Document
from tests.support.service.hosted import Agent
from tests.support.service.served import Served

Response = Callable[[Document], float]


def more_buffers_help(settings: Document) -> float:
    """QPS: more buffers and WAL help, up to a point."""
    return 500 + 80 * math.log2(settings["shared_buffers"] / 1024) + 30 * math.log2(settings["max_wal_size"] / 100)


def tune(
    served: Served,
    trials: int,
    qps_of: Response = more_buffers_help,
    seed: int = 7,
    name: str = "shop",
    rounds: int = 0,
) -> tuple[Agent, str, str]:
    """Run a lab session to its end: the agent's own client, the database's id, the session's id."""
    api = served.api
    database = api.take("POST", "/v1/databases", {"name": name, "engine": "postgresql"})["id"]
    token = api.take("POST", f"/v1/databases/{database}/tokens", {"name": "a", "scopes": ["agent"]})["token"]
    agent = Agent(served.client, token, database)
    agent.send()
    body = {
        "objective": {"metric": "qps", "goal": "maximize"},
        "mode": "lab",
        "approval": "automatic",
        "max_trials": trials,
        "verification_rounds": rounds,
        "seed": seed,
    }
    session = agent.take("POST", f"/v1/databases/{database}/sessions", body)["id"]
    while api.take("GET", f"/v1/sessions/{session}")["state"] == "running":
        directive = agent.next_directive()
        qps = qps_of(directive["settings"])
        agent.carry_out(directive, qps=qps, tps=qps / 7, p99_ms=8000 / qps)
    return agent, database, session
