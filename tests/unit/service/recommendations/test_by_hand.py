"""A change that somebody proposes by hand is met with what a finding would say of it."""

from __future__ import annotations

import pytest
from lutra_models.server import ServerSetting

from tests.support.service.hosted import Agent, Service

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"autovacuum": "off"}, ["with these values: Autovacuum is off and tables fill with dead rows."]),
        ({"autovacuum": "on"}, []),
        ({"work_mem": "8MB"}, []),
    ],
    ids=["dangerous", "as it is", "harmless"],
)
def test_it_is_warned_of_a_dangerous_value(
    service: Service, agent: Agent, database: str, settings: dict[str, str], says: list[str]
) -> None:
    agent.mode = "reload_only"
    agent.settings["autovacuum"] = ServerSetting("on", "", "bool")
    agent.send()
    made = service.take("POST", f"/v1/databases/{database}/recommendations", {"settings": settings})
    assert [w for w in made["warnings"] if w.startswith("with these values")] == says
