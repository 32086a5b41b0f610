"""What a client waits for: `lutra serve` as a process, a finished session in its database, one connection kept."""

from __future__ import annotations

import gzip
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
import httpx

from tests.support.service.hosted import Agent, Api
from tests.support.service.served import Served
from tests.support.service.sessions import tune

COUNTERS = 70
"""About as many metrics as the agent for PostgreSQL puts into a window."""


@click.command()
@click.option("--trials", default=10, help="Of the session whose model answers; they are fitted for real.")
@click.option("--requests", default=500, help="Of each kind.")
def main(trials: int, requests: int) -> None:
    with tempfile.TemporaryDirectory(prefix="lutra-bench-") as name, Served(Path(name)) as served:
        agent, database, session = tune(served, trials)
        assert isinstance(agent, Agent)
        last = served.api.take("GET", f"/v1/databases/{database}/recommendations?limit=1")["items"][0]["id"]
        print(f"{trials} trials, {requests} requests of each kind, one after another; milliseconds")
        print(f"{'':34}{'p50':>8}{'p95':>8}")
        show("GET a stored recommendation", requests, lambda: served.api.ask("GET", f"/v1/recommendations/{last}"))
        show("POST a what-if prediction", requests, lambda: predict(served.api, database))
        show("POST a report", requests, lambda: report(agent))
        show("GET a session's history", requests // 10, lambda: agent.ask("GET", f"/v1/sessions/{session}/history"))
        loaded = mathematics(served)
        print(f"loaded by the service's process: {', '.join(loaded) or 'neither GPy nor sklearn nor scipy.stats'}")


def show(what: str, count: int, ask: Callable[[], httpx.Response]) -> None:
    taken: list[float] = []
    for _ in range(count + 10):
        began = time.perf_counter()
        answer = ask()
        taken.append((time.perf_counter() - began) * 1000)
        assert answer.is_success, answer.text
    taken = taken[10:]
    print(f"{what:34}{statistics.median(taken):8.1f}{statistics.quantiles(taken, n=20)[-1]:8.1f}")


def predict(api: Api, database: str) -> httpx.Response:
    settings = {"shared_buffers": "1GB", "work_mem": "16MB"}
    return api.ask("POST", f"/v1/databases/{database}/predictions", {"settings": settings})


def report(agent: Agent) -> httpx.Response:
    """A window as the agent ships it: packed, with its counters, without the settings that did not change."""
    counters = {f"view.counter_{i}_per_s": i * 1.5 for i in range(COUNTERS)}
    body = agent.report(**agent.window(qps=900.0, tps=130.0, p99_ms=12.0, **counters))
    del body["settings"]
    return agent.client.post(
        f"/v1/databases/{agent.database}/reports",
        content=gzip.compress(json.dumps(body).encode()),
        headers={**agent.headers, "Content-Encoding": "gzip", "Content-Type": "application/json"},
    )


def mathematics(served: Served) -> list[str]:
    """Which of the heavy libraries the process has mapped: each comes with compiled parts of its own."""
    assert served.process is not None
    maps = Path(f"/proc/{served.process.pid}/maps").read_text()
    return [name for name in ("GPy", "sklearn", "scipy/stats") if f"/{name}/" in maps]


if __name__ == "__main__":
    main(prog_name="python -m benchmarks rest_latency")
