"""The rule-based start in what the recommender sees: proposed once, then known as it was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.fakes.tasks import Document, Fakes, answer
from tests.support.service.hosted import fake_executor, running

pytestmark = pytest.mark.slow

SESSION = {
    "objective": {"metric": "qps", "goal": "maximize"},
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 4,
    "seed": 1,
    "verification_rounds": 0,
}
ASKED, MADE = 8190, 8192


class Search(Fakes):
    """Tries the baseline, the rule-based start, and others; keeps the starts that each request brought along."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: list[list[Document]] = []

    def recommend(self, request: Any) -> Document:
        self.starts.append(request["history"]["starts"])
        work_mem, origin = ((4096, "current"), (ASKED, "rule_based"), (2048, "improvement"), (1024, "improvement"))[
            request["entropy"][1] - 1
        ]
        return answer({**request["history"]["current"], "work_mem": work_mem}, origin, 0)


def carried_out(folder: Path, failing: bool) -> list[list[Document]]:
    search = Search()
    with running(folder, executor=fake_executor(search)) as service:
        agent = service.agent(service.database())
        agent.send()
        service.take("POST", f"/v1/databases/{agent.database}/sessions", SESSION)
        for _ in range(SESSION["max_trials"]):
            directive = agent.next_directive()
            if failing and directive["settings"]["work_mem"] == ASKED:
                outcome = agent.outcome(directive, "reverted", code="did_not_start")
                agent.send(agent.report(outcomes=[outcome], measures=directive["id"], failure="did_not_start"))
                continue
            if directive["settings"]["work_mem"] == ASKED:
                agent.apply({**directive["settings"], "work_mem": MADE})
                outcome = agent.outcome(directive, "applied", active={"work_mem": MADE})
                window = agent.window(qps=1200.0, tps=240.0, p99_ms=10.0)
                agent.send(agent.report(outcomes=[outcome], measures=directive["id"], **window))
                continue
            agent.carry_out(directive)
    return search.starts


def test_a_start_that_was_measured_stays_a_start_as_the_server_made_it(tmp_path: Path) -> None:
    first, second, *later = carried_out(tmp_path, failing=False)
    assert len(first) == len(second) == 1
    assert [[s["work_mem"] for s in starts] for starts in later] == [[MADE], [MADE]]


def test_a_start_that_failed_is_a_start_no_longer(tmp_path: Path) -> None:
    _, _, *later = carried_out(tmp_path, failing=True)
    assert later == [[], []]
