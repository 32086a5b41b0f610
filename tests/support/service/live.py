"""A live session as its operator sees it: an agent that observes, and a worker that proposes what it is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.support.fakes.tasks import Document, Fakes, answer
from tests.support.service.hosted import Service, fake_executor, running

SESSION: Document = {
    "objective": {"metric": "p99_ms", "goal": "minimize"},
    "mode": "reload_only",
    "max_trials": 20,
    "seed": 1,
}
LOOKED_AT: Document = {
    "sentence": "nothing is worth changing: none of 21 symptoms shows in 4 windows",
    "symptoms": 21,
    "shown": 0,
    "rules": 12,
    "windows": 4,
    "seconds": 36.0,
    "least_gain": 0.05,
    "predicted_gain": None,
    "notes": [],
}


class Advisor(Fakes):
    """Proposes each of `wishes` in turn, whatever was turned down; after them, that nothing is worth changing.

    `costs` is what speaks against each of its changes.
    """

    def __init__(self, *wishes: Mapping[str, Any]) -> None:
        super().__init__()
        self.wishes = list(wishes)
        self.asked: list[Document] = []
        self.origin = "evidence"
        self.costs = ""

    def recommend(self, request: Mapping[str, Any]) -> Document:
        history = request["history"]
        self.asked.append(history)
        if not self.wishes:
            return {**answer(history["current"], "nothing", len(history["observations"])), "looked_at": LOOKED_AT}
        wish = self.wishes.pop(0)
        made = answer({**history["current"], **wish}, self.origin, len(history["observations"]))
        told = {"sentence": "so", "effect": None, "against": self.costs}
        reasons = [
            {**told, "setting": n, "before": b, "after": wish[n]}
            for n, b in history["current"].items()
            if self.costs and n in wish
        ]
        return {**made, "reasons": reasons, "looked_at": {**LOOKED_AT, "sentence": "1 symptom shows", "shown": 1}}


class Live:
    """A service, one of its databases and that database's agent, which is no lab."""

    def __init__(self, service: Service, advisor: Advisor, mode: str = "reload_only") -> None:
        self.service = service
        self.advisor = advisor
        self.agent = service.agent(service.database(), mode=mode)
        self.path = f"/v1/databases/{self.agent.database}"
        self.session_id = ""

    def observe(self, windows: int = 4, **metrics: float) -> None:
        """Under the settings of now, until about now."""
        self.agent.observe(windows, **metrics)

    def window(self, **metrics: float) -> Document:
        found = {"p99_ms": 12.0, "qps": 900.0, **metrics}
        return self.agent.send(self.agent.report(**self.agent.window(**found)))

    def open(self, **more: Any) -> Document:
        made: Document = self.service.take("POST", f"{self.path}/sessions", {**SESSION, **more})
        self.session_id = made["id"]
        return made

    def ask(self, waits: bool = True) -> Document:
        """Who waits is given what was computed."""
        if waits:
            return self.service.recommended(self.agent.database)
        made: Document = self.service.take("POST", f"{self.path}/recommendations")
        return made

    def look(self, id_: str) -> Document:
        found: Document = self.service.take("GET", f"/v1/recommendations/{id_}")
        return found

    def decide(self, id_: str, verb: str, body: Any = None) -> Document:
        decided: Document = self.service.take("POST", f"/v1/recommendations/{id_}/{verb}", body)
        return decided

    @property
    def session(self) -> Document:
        found: Document = self.service.take("GET", f"/v1/sessions/{self.session_id}")
        return found

    def carry_out(self, id_: str, windows: int = 4, **metrics: float) -> Document:
        """The agent applies it provisionally, measures it, and confirms it."""
        directive = self.agent.directive()
        assert directive is not None
        assert directive["id"] == id_
        agent = self.agent
        agent.apply(directive["settings"])
        confirm_by = (agent.clock + timedelta(minutes=15)).isoformat()
        agent.send(agent.report(outcomes=[agent.outcome(directive, "applied", confirm_by=confirm_by)]))
        for _ in range(windows):
            self.window(**metrics)
        agent.send(agent.report(outcomes=[agent.outcome(directive, "confirmed")]))
        return self.look(id_)

    def revert(self, id_: str, before: Mapping[str, Any], message: str) -> None:
        """A guard takes it away."""
        self.agent.apply(before)
        outcome = self.agent.outcome({"id": id_}, "reverted", code="guardrail", message=message)
        self.agent.send(self.agent.report(outcomes=[outcome]))


@contextmanager
def live(directory: Path, *wishes: Mapping[str, Any], mode: str = "reload_only", **settings: Any) -> Iterator[Live]:
    advisor = Advisor(*wishes)
    with running(directory, executor=fake_executor(advisor), **settings) as service:
        yield Live(service, advisor, mode)
