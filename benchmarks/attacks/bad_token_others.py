"""What the other databases do meanwhile: report, read pages, ask for recommendations and carry them out."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event
from typing import Any

import httpx

from tests.support.fakes.tasks import Document
from tests.support.service.hosted import Agent

EVERY_S = 2.0
"""A session in a lab reports far more often than an agent does otherwise, and must stay below its own quota."""
ANSWER_S = 75.0


class Neighbour:
    """One database with an agent's and an operator's token; the milliseconds of each kind of call, and its errors."""

    def __init__(self, url: str, database: str, agent_token: str, operator_token: str) -> None:
        client = httpx.Client(base_url=url, timeout=ANSWER_S)
        self.agent = Agent(client, agent_token, database, mode="lab")
        self.agent.name = secrets.token_hex(4)
        self.operator = {"Authorization": f"Bearer {operator_token}"}
        self.client = client
        self.path = f"/v1/databases/{database}"
        self.taken: dict[str, list[float]] = {}
        self.errors: list[str] = []

    def round(self) -> None:
        report = self.agent.report(**self.agent.window(qps=900.0, tps=130.0, p99_ms=12.0))
        self._timed("report", lambda: self.agent.ask("POST", f"{self.path}/reports", report))
        self._timed("page of windows", lambda: self._get("/windows?limit=20&metric=qps"))
        self._timed("settings", lambda: self._get("/settings"))
        self._timed("list of recommendations", lambda: self._get("/recommendations?limit=5"))
        made = self._timed("recommendation", self._asked)
        if made is not None and made.get("state") == "proposed":
            self._carried_out(made)

    def open_session(self) -> None:
        session = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "lab", "max_trials": 1000}
        self.client.post(f"{self.path}/sessions", headers=self.operator, json=session)

    def _carried_out(self, made: Document) -> None:
        approve = f"/v1/recommendations/{made['id']}/approve"
        self._timed("approval", lambda: self.client.post(approve, headers=self.operator))
        directive = self._timed("directive", lambda: self.agent.ask("GET", f"{self.path}/directive"))
        if directive:
            self.agent.apply(directive["settings"])
            parts = {"outcomes": [self.agent.outcome(directive, "applied")], "measures": directive["id"]}
            body = self.agent.report(**parts, **self.agent.window(qps=900.0 + self.agent.sequence % 50, p99_ms=12.0))
            self._timed("report", lambda: self.agent.ask("POST", f"{self.path}/reports", body))

    def _get(self, path: str) -> httpx.Response:
        return self.client.get(self.path + path, headers=self.operator)

    def _asked(self) -> httpx.Response:
        headers = {**self.operator, "Prefer": "wait=60"}
        return self.client.post(f"{self.path}/recommendations", headers=headers)

    def _timed(self, kind: str, ask: Callable[[], httpx.Response]) -> Any:
        began = time.perf_counter()
        try:
            answer = ask()
        except httpx.TransportError as error:
            self.errors.append(f"{kind}: {type(error).__name__} {error}")
            return None
        self.taken.setdefault(kind, []).append((time.perf_counter() - began) * 1000)
        if not answer.is_success:
            self.errors.append(f"{kind}: {answer.status_code} {answer.text[:200]}")
            return None
        return answer.json() if answer.content else None


def live(stop: Event, url: str, database: str, agent_token: str, operator_token: str) -> dict[str, Any]:
    """Rounds until told to stop, one in EVERY_S at most."""
    neighbour = Neighbour(url, database, agent_token, operator_token)
    neighbour.agent.send()
    neighbour.open_session()
    while not stop.is_set():
        began = time.monotonic()
        neighbour.round()
        stop.wait(max(0.0, EVERY_S - (time.monotonic() - began)))
    return {"taken": neighbour.taken, "errors": neighbour.errors}
