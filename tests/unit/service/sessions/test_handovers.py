from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lutra_models.errors import FitFailed
from lutra_service.app.tuning.consequences.follow import FOLLOWS
from lutra_service.app.tuning.session.advance import advance
from lutra_service.app.tuning.steps.facts import NextStep
from lutra_service.db.store import UnitOfWork

from tests.support.service.hosted import (
    Agent,
    Document,
    Fakes,
    Service,
    fake_executor,
    happened,
    running,
    some_minutes_later,
)

pytestmark = pytest.mark.slow

SESSION = {
    "objective": {"metric": "qps", "goal": "maximize"},
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 1,
    "verification_rounds": 0,
    "seed": 1,
}


def begun(service: Service, agent: Agent, **more: object) -> str:
    """A session whose one trial is measured."""
    agent.send()
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", {**SESSION, **more})
    agent.carry_out(agent.next_directive())
    return f"/v1/sessions/{session['id']}"


def expire(service: Service, id_: str) -> None:
    happened(service, id_, expires_at=datetime.now(UTC) - timedelta(minutes=1))


def test_a_handover_whose_approval_expired_is_asked_for_again(service: Service, agent: Agent) -> None:
    path = begun(service, agent)
    first = agent.next_directive()
    expire(service, first["id"])
    some_minutes_later(service, first)
    agent.send()
    service.until(path, lambda s: s["handover"] not in (None, first["id"]))
    assert service.take("GET", f"/v1/recommendations/{first['id']}")["state"] == "expired"
    agent.carry_out(agent.next_directive())
    assert service.take("GET", path)["state"] == "completed"


def test_a_handover_that_failed_is_computed_again_once_the_session_is_resumed(tmp_path: Path) -> None:
    class FailingOnce(Fakes):
        failed = False

        def handover(self, request: Mapping[str, Any]) -> Document:
            if not self.failed:
                self.failed = True
                raise FitFailed("not this time")
            return super().handover(request)

    with running(tmp_path, executor=fake_executor(FailingOnce())) as service:
        agent = service.agent(service.database())
        path = begun(service, agent)
        service.until(path, lambda s: s["state"] == "paused")
        assert service.take("POST", f"{path}/resume")["state"] == "running"
        agent.carry_out(agent.next_directive())
        assert service.take("GET", path)["state"] == "completed"


def test_an_operator_who_turned_a_handover_down_may_ask_for_it_again(service: Service, agent: Agent) -> None:
    agent.send()
    service.take("POST", f"/v1/databases/{agent.database}/sessions", {**SESSION, "approval": "manual"})
    trial = service.recommended(agent.database)
    service.take("POST", f"/v1/recommendations/{trial['id']}/approve")
    agent.carry_out(agent.next_directive())
    first = service.recommended(agent.database)
    service.take("POST", f"/v1/recommendations/{first['id']}/reject")
    again = service.recommended(agent.database)
    assert (again["kind"], again["state"]) == ("handover", "proposed")
    assert again["id"] != first["id"]


def test_what_cannot_be_ended_on_one_database_stays_its_own_trouble(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for name in ("first", "second"):
        agent = service.agent(service.database(name), mode="reload_only")
        agent.send()
        wish = {"settings": {"work_mem": "8MB"}, "approve": True}
        made.append(service.take("POST", f"/v1/databases/{agent.database}/recommendations", wish))
    broken = made[0]["database"]

    def fails(unit: UnitOfWork, step: NextStep) -> None:
        if step.database_id == broken:
            raise RuntimeError("its next step cannot be taken")
        advance(unit, step)

    monkeypatch.setitem(FOLLOWS, NextStep, (fails,))
    for one in made:
        expire(service, one["id"])
    service.until(f"/v1/recommendations/{made[1]['id']}", lambda r: r["state"] == "expired")
    assert service.take("GET", f"/v1/recommendations/{made[0]['id']}")["state"] == "approved"


def test_a_handover_withdrawn_for_another_server_does_not_end_the_session(service: Service, agent: Agent) -> None:
    path = begun(service, agent)
    withdrawn = agent.next_directive()
    agent.facts = {"engine_version": "17.1"}
    agent.send()
    some_minutes_later(service, withdrawn)
    agent.send()
    assert service.take("GET", f"/v1/recommendations/{withdrawn['id']}")["state"] == "rejected"
    resumed = service.take("POST", f"{path}/resume")
    assert (resumed["state"], resumed["trials_done"]) == ("running", 0)


def test_a_handover_knows_where_settings_stood_that_began_to_move_later(service: Service, agent: Agent) -> None:
    path = begun(service, agent, max_trials=2)
    id_ = path.rpartition("/")[2]
    baseline = service.store.read(lambda u: u.sessions.get(id_)).baseline or {}
    fewer = {n: v for n, v in baseline.items() if n != "work_mem"}
    service.store.write(lambda u: u.sessions.change(id_, baseline=fewer))
    agent.carry_out(agent.next_directive())
    handover = service.until(path, lambda s: s["handover"] is not None)["handover"]
    asked = service.store.read(lambda u: u.requests.get(handover)).payload
    assert asked["baseline"].keys() >= baseline.keys()


def test_a_session_ends_on_the_handover_that_is_active_and_hands_out_no_other(service: Service, agent: Agent) -> None:
    """An agent tells late of one whose approval had expired."""
    path = begun(service, agent)
    first = agent.next_directive()
    expire(service, first["id"])
    some_minutes_later(service, first)
    agent.send()
    second = service.until(path, lambda s: s["handover"] not in (None, first["id"]))["handover"]
    service.until(f"/v1/recommendations/{second}", lambda r: r["state"] == "approved")
    agent.carry_out(first)
    assert service.take("GET", path)["state"] == "completed"
    assert agent.directive() is None
    assert service.take("GET", f"/v1/recommendations/{first['id']}")["state"] == "confirmed"
