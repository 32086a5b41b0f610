"""A session whose space has nothing left to try goes on to its end, and says what closed it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lutra_models.errors import SpaceExhausted

from tests.support.fakes.tasks import Document, Fakes, answer
from tests.support.service.hosted import fake_executor, running

WHY = "no configuration is left to try: of 8 next to those that were, 8 are refused: too much memory"
SESSION = {
    "objective": {"metric": "qps", "goal": "maximize"},
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 9,
    "verification_rounds": 0,
}


class Narrow(Fakes):
    """The current configuration, one more, and then nothing."""

    def recommend(self, request: Mapping[str, Any]) -> Document:
        if len(request["history"]["observations"]) < 2:
            return super().recommend(request)
        raise SpaceExhausted(WHY)

    def handover(self, request: Mapping[str, Any]) -> Document:
        return answer(dict(request["baseline"]), "baseline", 2)


def test_the_session_hands_over_and_says_what_closed_it(tmp_path: Path) -> None:
    with running(tmp_path, executor=fake_executor(Narrow())) as service:
        agent = service.agent(service.database())
        agent.send()
        session = service.take("POST", f"/v1/databases/{agent.database}/sessions", SESSION)
        for qps in (1000.0, 990.0, 1000.0):
            directive = agent.next_directive()
            agent.carry_out(directive, qps=qps, p99_ms=9.0)
        ended = service.take("GET", f"/v1/sessions/{session['id']}")
        assert (ended["state"], ended["message"], ended["trials_done"]) == ("completed", WHY, 2)
        made = service.take("GET", f"/v1/sessions/{session['id']}/trials")["items"]
        assert [t["origin"] for t in made if t["measured"]] == ["current", "improvement"]
