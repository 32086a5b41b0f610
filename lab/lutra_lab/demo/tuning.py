"""The demo's requests over REST: a tuning session, with the verification at its end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from lutra_models.serial import server_from_dict
from lutra_models.server import Server

from lutra_lab.demo.processes import DemoFailed
from lutra_lab.demo.stack import Stack

Document = dict[str, Any]
"""The client's answer type, and the content of `--json`."""
TARGETS = ("qps", "p99_ms")
TRIAL_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Tuned:
    """A session that ended: its trials, its verification, its final configuration, the server before it, and the load
    under which it was measured.
    """

    trials: list[Document]
    verification: Document
    handover: Document
    server: Server
    measured_under: str


class Watcher(Protocol):
    """An observer that gets the events of a running session."""

    def trial(self, row: Document) -> None:
        """A trial was proposed, or has ended."""

    def reading(self, name: str, round_: int, metrics: Document) -> None:
        """A finalist was measured once more."""


def tune(stack: Stack, trials: int, rounds: int, seed: int, watcher: Watcher) -> Tuned:
    """Run a session to its end."""
    client = stack.client
    session = client.sessions.open(
        stack.database,
        objective={"metric": "qps", "goal": "maximize"},
        mode="lab",
        approval="automatic",
        max_trials=trials,
        verification_rounds=rounds,
        seed=seed,
    )["id"]
    server = server_from_dict(client.sessions.get_history(session)["server"])
    seen: dict[int, bool] = {}
    read: Counter[str] = Counter()
    last_news = time.monotonic()
    while True:
        state: Document = dict(client.sessions.get(session))
        rows: list[Document] = [dict(trial) for trial in client.sessions.list_trials(session)]
        for row in rows:
            done = row["measured"] is not None or row["failed"] is not None
            if row["configuration"] is not None and seen.get(row["trial"]) is not done:
                seen[row["trial"]] = done
                last_news = time.monotonic()
                watcher.trial(row)
        for name, round_, metrics in _readings(state["verification"], read):
            last_news = time.monotonic()
            watcher.reading(name, round_, metrics)
        if state["state"] == "completed":
            handover: Document = dict(client.recommendations.get(state["handover"]))
            if handover["failed"] is not None:
                raise DemoFailed(f"the winning configuration could not be applied: {handover['failed']}")
            return Tuned(rows, state["verification"], handover, server, state["measured_under"] or "")
        if state["state"] != "running":
            raise DemoFailed(f"the session is {state['state']}: {state['message']}")
        _wait(stack, last_news)


def _readings(verification: Document | None, read: Counter[str]) -> Iterator[tuple[str, int, Document]]:
    """Those that were not read before: finalist, round from 1, metrics."""
    for finalist in verification["finalists"] if verification else ():
        name = finalist["name"]
        for metrics in finalist["readings"][read[name] :]:
            read[name] += 1
            yield name, read[name], metrics


def _wait(stack: Stack, since: float) -> None:
    stack.processes.check()
    if time.monotonic() - since > TRIAL_TIMEOUT_S:
        log = stack.processes.tail("agent")
        raise DemoFailed(f"no trial ended within {TRIAL_TIMEOUT_S:.0f} s; the agent's last words:\n{log}")
    time.sleep(0.3)


def as_trial(row: Document) -> Document:
    """One trial of `--json`; predictions are absent before there is a model."""
    trial: Document = {
        "trial": row["trial"],
        "origin": row["origin"],
        "configuration": row["configuration"],
        "measured": row["measured"] and targets(row["measured"]),
        "ended_early": row["ended_early"],
        "spent_s": row["spent_s"],
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
    """The number of predicted intervals of `metric` that contained the measured value, and the number of all."""
    judged = [
        t["predictions"][metric]["low"] <= t["measured"][metric] <= t["predictions"][metric]["high"]
        for t in trials
        if metric in t.get("predictions", {}) and t["measured"] and metric in t["measured"]
    ]
    return sum(judged), len(judged)
