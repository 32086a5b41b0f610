"""Load whose every acknowledgement is written down: agents that report and carry out, an operator that creates.

Whoever gets no answer asks again: an agent with the same numbered report, an operator with the same Idempotency-Key.
What was acknowledged is then looked for, and what was asked for twice must not be there twice.
"""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.fakes.tasks import Document
from tests.support.service.hosted import Agent, Api

ANSWER_S = 15.0
PAUSE_S = 0.05
EVENT_EVERY = 5
SETTLED = ("confirmed", "reverted", "rejected", "refused", "failed", "expired")


@dataclass
class Ledger:
    """What was acknowledged. `asked` counts requests that were answered in the end, and repeated ones."""

    reports: dict[str, set[int]] = field(default_factory=dict)
    events: dict[str, set[str]] = field(default_factory=dict)
    databases: set[str] = field(default_factory=set)
    tokens: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    revoked: dict[str, str] = field(default_factory=dict)
    recommendations: dict[str, str] = field(default_factory=dict)
    approvals: set[str] = field(default_factory=set)
    repeated: int = 0
    unexpected: list[str] = field(default_factory=list)

    def acknowledged(self) -> dict[str, int]:
        return {
            "reports": sum(map(len, self.reports.values())),
            "events": sum(map(len, self.events.values())),
            "databases": len(self.databases),
            "tokens": len(self.tokens),
            "revocations": len(self.revoked),
            "recommendations": len(self.recommendations),
            "approvals": len(self.approvals),
        }


class Client:
    """Asks until there is an answer. None where the load ends first."""

    def __init__(self, url: str, token: str, ledger: Ledger, done: threading.Event) -> None:
        self._api = Api(httpx.Client(base_url=url, timeout=ANSWER_S), token)
        self._ledger = ledger
        self._done = done

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response | None:
        while not self._done.is_set():
            try:
                answer = self._api.ask(method, path, body, **headers)
            except httpx.TransportError:
                self._ledger.repeated += 1
            else:
                if answer.status_code < 500 and answer.status_code != 429:
                    return answer
                self._ledger.repeated += 1
            self._done.wait(PAUSE_S)
        return None

    def create(self, path: str, body: Document) -> Document | None:
        """With a key, so that asking again does nothing twice."""
        key = {"Idempotency-Key": secrets.token_hex(16)}
        answer = self.ask("POST", path, body, **key)
        if answer is None:
            return None
        if not answer.is_success:
            self._ledger.unexpected.append(f"POST {path}: {answer.status_code} {answer.text[:200]}")
            return None
        made: Document = answer.json()
        return made


def agent_load(agent: Agent, client: Client, ledger: Ledger, done: threading.Event) -> None:
    """Reports with a window, some with an event, and whatever directive comes is carried out."""
    path = f"/v1/databases/{agent.database}"
    reports, events = ledger.reports.setdefault(agent.database, set()), ledger.events.setdefault(agent.database, set())
    outcomes: list[Document] = []
    while not done.is_set():
        new = [_event(agent)] if agent.sequence % EVENT_EVERY == 0 else []
        body = agent.report(**agent.window(qps=float(agent.sequence)), events=new, outcomes=outcomes)
        answer = client.ask("POST", f"{path}/reports", body)
        if answer is None:
            return
        if not answer.is_success:
            ledger.unexpected.append(f"report {body['sequence']}: {answer.status_code} {answer.text[:200]}")
            return
        reports.add(body["sequence"])
        events |= {event["message"] for event in new}
        outcomes = _carried_out(agent, answer.json().get("directive"), outcomes)
        done.wait(PAUSE_S)


def _carried_out(agent: Agent, directive: Document | None, told: list[Document]) -> list[Document]:
    """The outcomes of the next report: applied first, confirmed with the report after it."""
    if directive is not None and not any(o["directive"] == directive["id"] for o in told):
        agent.apply(directive["settings"])
        return [agent.outcome(directive, "applied")]
    applied = [o for o in told if o["state"] == "applied"]
    return [{**o, "state": "confirmed"} for o in applied]


def _event(agent: Agent) -> Document:
    """The service gives it an id of its own: its message is what it is found by."""
    at, mark = agent.clock.isoformat(), secrets.token_hex(8)
    return {
        "id": f"ev_{mark}",
        "guard": "qps",
        "metric": "qps",
        "value": 1.0,
        "bound": 2.0,
        "limit": 0.5,
        "held_s": 60.0,
        "hold_s": 60.0,
        "since": at,
        "at": at,
        "message": f"qps is low {mark}",
    }


def operator_load(number: int, client: Client, ledger: Ledger, own: list[str], done: threading.Event) -> None:
    """Databases, tokens, revocations, and a recommendation at a time with its approval."""
    count = 0
    while not done.is_set():
        count += 1
        made = client.create("/v1/databases", {"name": f"db-{number}-{count}", "engine": "postgresql"})
        if made is not None:
            ledger.databases.add(made["id"])
            _tokens(client, ledger, made["id"], f"token-{number}-{count}")
        for database in own:
            _recommendation(client, ledger, database, f"{4096 + 4 * count}kB")
        done.wait(PAUSE_S)


def _tokens(client: Client, ledger: Ledger, database: str, name: str) -> None:
    path = f"/v1/databases/{database}/tokens"
    for kept in (True, False):
        made = client.create(path, {"name": f"{name}-{kept}", "scopes": ["read"]})
        if made is None:
            return
        if kept:
            # The answer to a repeated request does not tell the secret again.
            ledger.tokens[made["id"]] = (database, f"{name}-{kept}", made.get("token") or "")
            continue
        answer = client.ask("DELETE", f"{path}/{made['id']}")
        if answer is not None and answer.is_success:
            ledger.revoked[made["id"]] = made.get("token") or ""


def _recommendation(client: Client, ledger: Ledger, database: str, work_mem: str) -> None:
    """Asked for and approved, once the one before has come to its end."""
    path = f"/v1/databases/{database}/recommendations"
    before = client.ask("GET", f"{path}?limit=1")
    if before is None or not before.is_success or any(r["state"] not in SETTLED for r in before.json()["items"]):
        return
    made = client.create(path, {"settings": {"work_mem": work_mem}})
    if made is None:
        return
    ledger.recommendations[made["id"]] = f"{database} {work_mem}"
    answer = client.ask("POST", f"/v1/recommendations/{made['id']}/approve")
    if answer is not None and answer.is_success:
        ledger.approvals.add(made["id"])
