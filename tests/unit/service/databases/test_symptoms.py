from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.support.reported.postgresql import a_server
from tests.support.service.hosted import Agent, Service

SPILLING = {"database.temp_files_per_s": 2.0, "database.temp_bytes_per_s": 1.6e7}


def shown(service: Service, database: str, query: str = "") -> dict[str, Any]:
    found: dict[str, Any] = service.take("GET", f"/v1/databases/{database}/symptoms{query}")
    return found


def test_the_windows_of_now_are_told_as_symptoms_with_their_cures(
    service: Service, agent: Agent, database: str
) -> None:
    assert service.code("GET", f"/v1/databases/{database}/symptoms") == (409, "not_enough_observations")
    agent.send()
    assert shown(service, database)["symptoms"] == []
    for _ in range(2):
        agent.send(agent.report(**agent.window(**SPILLING)))
    found = shown(service, database)
    assert found["windows"] == 2
    assert found["start"] < found["end"]
    symptom = next(s for s in found["symptoms"] if s["name"] == "sorts_spill")
    assert symptom["kind"] == "fault"
    assert 0.3 <= symptom["strength"] <= 1.0
    assert symptom["cures"][0]["setting"] == "work_mem"
    assert symptom["cures"][0]["after"] > symptom["cures"][0]["before"]


OFF = {"tables.off": 2.0, "tables.off_behind": 1.0, "tables.off_dead_rows": 5e4}


def test_names_that_a_window_brings_are_in_the_sentence_and_no_command_for_a_terminal(
    service: Service, agent: Agent, database: str
) -> None:
    agent.settings["autovacuum"] = a_server().settings["autovacuum"]
    texts = {"tables.off_names": 'queue, "x\x1b[2J\u202ey"'}
    agent.send(agent.report(**agent.window(**OFF), texts=texts))
    agent.send(agent.report(**agent.window(**OFF), texts=texts))
    found = next(s for s in shown(service, database)["symptoms"] if s["name"] == "autovacuum_off_for_tables")
    assert 'would have run: 1 (queue, "x?[2J?y"), with' in found["sentence"]
    assert found["statements"][0] == "ALTER TABLE queue RESET (autovacuum_enabled);"


def test_windows_without_names_are_told_without_them(service: Service, agent: Agent, database: str) -> None:
    agent.settings["autovacuum"] = a_server().settings["autovacuum"]
    agent.send(agent.report(**agent.window(**OFF)))
    found = next(s for s in shown(service, database)["symptoms"] if s["name"] == "autovacuum_off_for_tables")
    assert "would have run: 1, with" in found["sentence"]


def test_windows_of_other_settings_and_of_long_ago_say_nothing(service: Service, agent: Agent, database: str) -> None:
    agent.send(agent.report(**agent.window(**SPILLING)))
    agent.apply({"work_mem": 8192})
    agent.send()
    assert shown(service, database)["windows"] == 0
    agent.clock -= timedelta(hours=3)
    agent.send(agent.report(**agent.window(**SPILLING)))
    assert shown(service, database)["windows"] == 0
    assert shown(service, database, "?minutes=600")["windows"] == 1
    assert service.code("GET", f"/v1/databases/{database}/symptoms?minutes=0") == (422, "invalid_request")


def test_a_pinned_setting_is_no_cure_and_says_so(service: Service, agent: Agent, database: str) -> None:
    service.take("PATCH", f"/v1/databases/{database}", {"policy": {"pins": {"work_mem": "4MB"}}})
    agent.send(agent.report(**agent.window(**SPILLING)))
    found = shown(service, database)["symptoms"]
    cures = next(s for s in found if s["name"] == "sorts_spill")["cures"]
    assert cures[0]["after"] is None
    assert "pinned" in cures[0]["obstacle"]
