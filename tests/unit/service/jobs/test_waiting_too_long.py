from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from lutra_service.app.tuning.result import expiry
from lutra_service.db.schema.recommendation import Measurement

from tests.support.service.hosted import Agent, Document, Service, happened

pytestmark = pytest.mark.slow

LATE = expiry.MEASUREMENT_LATE + timedelta(minutes=1)


def applied(service: Service, agent: Agent, **more: object) -> str:
    """An operator's own change that the agent applied long ago."""
    wish = {"settings": {"work_mem": "8MB"}, "approve": True}
    made: Document = service.take("POST", f"/v1/databases/{agent.database}/recommendations", wish)
    directive = agent.next_directive()
    assert directive["id"] == made["id"]
    agent.apply(directive["settings"])
    agent.send(agent.report(outcomes=[agent.outcome(directive, "applied")]))
    happened(service, made["id"], applied_at=datetime.now(UTC) - LATE)
    if more:
        service.store.write(lambda u: u.recommendations.change(made["id"], **more))
    return str(made["id"])


def overdue(service: Service) -> list[str]:
    return service.store.read(expiry.overdue)


def test_outside_a_lab_a_change_waits_for_its_windows_as_long_as_it_takes(service: Service, database: str) -> None:
    agent = service.agent(database, mode="reload_only")
    agent.send()
    applied(service, agent)
    assert overdue(service) == []


def test_what_an_agent_without_a_lab_applied_waits_too_whatever_the_session_asked_for(
    service: Service, database: str
) -> None:
    agent = service.agent(database, mode="reload_only")
    agent.send()
    lab = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "lab"}
    service.take("POST", f"/v1/databases/{database}/sessions", lab)
    applied(service, agent)
    assert overdue(service) == []


def test_in_a_lab_a_change_that_nobody_measured_fails(service: Service, agent: Agent) -> None:
    agent.send()
    id_ = applied(service, agent)
    failed = service.until(f"/v1/recommendations/{id_}", lambda r: r["state"] == "failed")
    assert failed["error"] == "no measurement came"


def test_what_was_measured_is_not_said_to_lack_its_measurement(service: Service, agent: Agent) -> None:
    agent.send()
    applied(service, agent, measurement=Measurement({"qps": 1000.0}))
    assert overdue(service) == []
