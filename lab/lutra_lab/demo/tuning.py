"""What the demo asks over REST: a tuning session, then default, rule-based and best measured again in turn."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from lutra_lab.demo.processes import DemoFailed
from lutra_lab.demo.stack import Stack, get, post

Document = dict[str, Any]
"""What REST answers, and what `--json` prints."""
TARGETS = ("qps", "p99_ms")
TRIAL_TIMEOUT_S = 300.0
ENDED = ("reverted", "rejected", "refused", "failed", "expired")


def tune(stack: Stack, trials: int, seed: int, shown: Callable[[Document], None]) -> tuple[list[Document], Document]:
    """Run a session to its end; `shown` is called once as a trial is proposed and once as it ends.

    Returns the trials and the session's handover recommendation.
    """
    body = {
        "objective": {"metric": "qps", "goal": "maximize"},
        "mode": "lab",
        "approval": "automatic",
        "max_trials": trials,
        "seed": seed,
    }
    session = post(stack.client, f"/v1/databases/{stack.database}/sessions", body)["id"]
    seen: dict[int, bool] = {}
    last_news = time.monotonic()
    while True:
        state = get(stack.client, f"/v1/sessions/{session}")
        rows = get(stack.client, f"/v1/sessions/{session}/trials")["items"]
        for row in rows:
            done = row["measured"] is not None or row["failed"] is not None
            if row["configuration"] is not None and seen.get(row["trial"]) is not done:
                seen[row["trial"]] = done
                last_news = time.monotonic()
                shown(row)
        if state["state"] == "completed":
            return rows, get(stack.client, f"/v1/recommendations/{state['handover']}")
        if state["state"] != "running":
            raise DemoFailed(f"the session is {state['state']}: {state['message']}")
        _wait(stack, last_news)


def measure(stack: Stack, settings: Document) -> Document:
    """Make `settings` active, measure them once, and give the recommendation that recorded it."""
    path = f"/v1/databases/{stack.database}/recommendations"
    recommendation = post(stack.client, path, {"settings": settings, "approve": True})
    asked = time.monotonic()
    while recommendation["measured"] is None:
        if recommendation["state"] in ENDED:
            raise DemoFailed(f"{recommendation['id']} is {recommendation['state']}: {recommendation['error']}")
        _wait(stack, asked)
        recommendation = get(stack.client, f"/v1/recommendations/{recommendation['id']}")
    return recommendation


def _wait(stack: Stack, since: float) -> None:
    stack.processes.check()
    if time.monotonic() - since > TRIAL_TIMEOUT_S:
        log = stack.processes.tail("agent")
        raise DemoFailed(f"no trial ended within {TRIAL_TIMEOUT_S:.0f} s; the agent's last words:\n{log}")
    time.sleep(0.3)


def as_trial(row: Document) -> Document:
    """One trial as `--json` tells it; predictions are absent before there is anything to predict from."""
    trial: Document = {
        "trial": row["trial"],
        "origin": row["origin"],
        "configuration": row["configuration"],
        "measured": row["measured"] and targets(row["measured"]),
        "failed": row["failed"] is not None,
        "failure": row["failed"],
    }
    if row["predictions"]:
        trial["predictions"] = {
            m: {k: p[k] for k in ("median", "low", "high")} for m, p in row["predictions"].items() if m in TARGETS
        }
    return trial


def targets(measured: Document) -> Document:
    return {m: measured[m] for m in ("p99_ms", "qps", "tps") if m in measured}


def held(trials: list[Document], metric: str) -> tuple[int, int]:
    """How many predicted intervals of `metric` held the measured value, of how many."""
    judged = [
        t["predictions"][metric]["low"] <= t["measured"][metric] <= t["predictions"][metric]["high"]
        for t in trials
        if metric in t.get("predictions", {}) and t["measured"] and metric in t["measured"]
    ]
    return sum(judged), len(judged)
