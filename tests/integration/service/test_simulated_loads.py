"""Two loads of a database that is a function of its settings: each has its own predictions."""

from __future__ import annotations

import math
import random

import pytest

from tests.support.service.hosted import Agent, Document
from tests.support.service.served import Served

pytestmark = pytest.mark.slow

SESSION = {
    "objective": {"metric": "p99_ms", "goal": "minimize"},
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 100,
    "verification_rounds": 0,
    "seed": 1,
}
POLICY = {"restart": False, "movable": ["work_mem", "random_page_cost"]}
WAITING_MS = {8: 18.0, 64: 150.0}
"""One client at a time, the others wait for it: by the number of clients, what one in a hundred waits."""
NOISE = 0.04
TRIALS = 4
LEVEL = 0.99


class Loaded:
    """A database in a session, its agent, and what the clients of a load see of its settings."""

    def __init__(self, served: Served) -> None:
        self.api, self.chance = served.api, random.Random(3)
        body = {"name": "two loads", "engine": "postgresql", "policy": POLICY}
        database = self.api.take("POST", "/v1/databases", body)["id"]
        path = f"/v1/databases/{database}"
        token = self.api.take("POST", f"{path}/tokens", {"name": "a", "scopes": ["agent"]})["token"]
        self.path, self.agent = path, Agent(served.client, token, database)

    def open(self) -> None:
        self.agent.send()
        self.api.take("POST", f"{self.path}/sessions", SESSION)

    def trial(self, clients: int) -> None:
        self.agent.facts = {"context": {"driver": "pgbench", "clients": clients}}
        directive = self.agent.next_directive()
        p99_ms = self.p99_ms(clients, directive["settings"]) * math.exp(self.chance.gauss(0.0, NOISE))
        self.agent.carry_out(directive, qps=1000 * clients / p99_ms, p99_ms=p99_ms)

    def p99_ms(self, clients: int, settings: Document) -> float:
        """Without noise: memory for sorting helps a little, under every load."""
        return WAITING_MS[clients] * (float(settings.get("work_mem", 4096)) / 4096) ** -0.03

    def now(self) -> Document:
        """The settings that are active."""
        return {"work_mem": self.agent.settings["work_mem"].value}

    def predicted(self) -> Document:
        answer = self.api.take("POST", f"{self.path}/predictions", {"settings": {}, "level": LEVEL})
        found: Document = answer["predictions"]["p99_ms"]
        return found


def test_predictions_for_two_loads_lie_as_far_apart_as_the_loads(served: Served) -> None:
    loaded = Loaded(served)
    loaded.open()
    predicted, expected = [], []
    for clients in WAITING_MS:
        for _ in range(TRIALS):
            loaded.trial(clients)
        loaded.agent.facts = {"context": {"driver": "pgbench", "clients": clients}}
        # The next directive is computed from all readings so far.
        directive = loaded.agent.next_directive()
        expected.append(loaded.p99_ms(clients, loaded.now()))
        predicted.append(loaded.predicted())
        loaded.agent.carry_out(directive, qps=1000 * clients / expected[-1], p99_ms=expected[-1])
    for prediction, p99_ms in zip(predicted, expected, strict=True):
        assert prediction["low"] < p99_ms < prediction["high"]
    few, many = predicted
    assert few["high"] < many["low"]
