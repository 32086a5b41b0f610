"""A reporter that does what an agent does: numbered reports once a second, kept until they are acknowledged."""

from __future__ import annotations

import time
from collections import Counter
from multiprocessing.synchronize import Event
from typing import Any

import httpx

from tests.support.service.hosted import Agent

ANSWER_S = 10.0
DRAIN_S = 60.0


def report_every_second(stop: Event, url: str, token: str, database: str) -> dict[str, Any]:
    """How many were made and acknowledged, how often an attempt failed and why, and the longest wait of a report."""
    with httpx.Client(base_url=url, timeout=ANSWER_S) as client:
        agent = Agent(client, token, database, mode="reload_only")
        waiting: list[tuple[float, dict[str, Any]]] = []
        made, acknowledged, waits = 0, 0, [0.0]
        failed: Counter[str] = Counter()
        while not stop.is_set():
            began = time.monotonic()
            waiting.append((began, _report(agent)))
            made += 1
            acknowledged += _drain(agent, waiting, failed, waits, began + 1.0)
            stop.wait(max(0.0, 1.0 - (time.monotonic() - began)))
        acknowledged += _drain(agent, waiting, failed, waits, time.monotonic() + DRAIN_S)
    return {"made": made, "acknowledged": acknowledged, "failed_attempts": dict(failed), "longest_wait_s": max(waits)}


def _report(agent: Agent) -> dict[str, Any]:
    return agent.report(**agent.window(qps=900.0, tps=130.0, p99_ms=12.0))


def _drain(
    agent: Agent, waiting: list[tuple[float, dict[str, Any]]], failed: Counter[str], waits: list[float], until: float
) -> int:
    """Send what waits, oldest first; the number acknowledged. One that fails is tried again until the moment given."""
    sent = 0
    while waiting:
        since, body = waiting[0]
        try:
            answer = agent.ask("POST", f"/v1/databases/{agent.database}/reports", body)
        except httpx.TransportError as error:
            failed[type(error).__name__] += 1
        else:
            if answer.is_success:
                waits.append(time.monotonic() - since)
                waiting.pop(0)
                sent += 1
                continue
            failed[str(answer.status_code)] += 1
        if time.monotonic() >= until:
            break
        time.sleep(0.1)
    return sent
