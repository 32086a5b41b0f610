from __future__ import annotations

from tests.support.service import Agent, Service

HOUR = {"checkpointer.requested_per_s": 0.5, "checkpointer.timed_per_s": 0.0, "wal.bytes_per_s": 3e9}


def shown(service: Service, database: str, query: str = "") -> dict[str, object]:
    found: dict[str, object] = service.take("GET", f"/v1/databases/{database}/symptoms{query}")
    return found


def test_the_windows_of_now_are_told_as_symptoms_with_their_cures(
    service: Service, agent: Agent, database: str
) -> None:
    assert service.code("GET", f"/v1/databases/{database}/symptoms") == (409, "not_enough_observations")
    agent.send()
    assert shown(service, database)["symptoms"] == []
    for _ in range(2):
        agent.send(agent.report(**agent.window(**HOUR)))
    found = shown(service, database)
    assert found["windows"] == 2
    assert str(found["start"]) < str(found["end"])
    symptom = next(s for s in found["symptoms"] if s["name"] == "checkpoints_forced")  # type: ignore[attr-defined]
    assert symptom["kind"] == "fault"
    assert symptom["strength"] == 1.0
    assert symptom["cures"][0]["setting"] == "max_wal_size"
    assert symptom["cures"][0]["after"] > symptom["cures"][0]["before"]


def test_windows_of_other_settings_and_of_long_ago_say_nothing(service: Service, agent: Agent, database: str) -> None:
    agent.send(agent.report(**agent.window(**HOUR)))
    agent.set(work_mem=8192)
    agent.send()
    assert shown(service, database)["windows"] == 0
    agent.send(agent.report(**agent.window(**HOUR)))
    assert shown(service, database)["windows"] == 1
    service.clock.advance(3 * 3600)
    assert shown(service, database)["windows"] == 0
    assert shown(service, database, "?minutes=600")["windows"] == 1
    assert service.code("GET", f"/v1/databases/{database}/symptoms?minutes=0") == (422, "invalid_request")


def test_a_pinned_setting_is_no_cure_and_says_so(service: Service, agent: Agent, database: str) -> None:
    service.take("PATCH", f"/v1/databases/{database}", {"policy": {"pins": {"max_wal_size": "1GB"}}})
    agent.send(agent.report(**agent.window(**HOUR)))
    found = shown(service, database)["symptoms"]
    cures = next(s for s in found if s["name"] == "checkpoints_forced")["cures"]  # type: ignore[attr-defined]
    assert cures[0]["after"] is None
    assert "pinned" in cures[0]["obstacle"]
