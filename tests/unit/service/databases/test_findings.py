"""Findings over time, and the risks that somebody takes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from click.testing import CliRunner
from lutra_client import Client
from lutra_client.commands.program import main
from lutra_models.symptoms import Diagnosis, Symptom
from lutra_models.symptoms.listed import listed
from lutra_service.api.databases.symptom_schemas import NotJudgedAnswer, SymptomAnswer, SymptomsAnswer
from lutra_service.app.databases import findings
from lutra_service.app.databases.current_server import context_of
from lutra_service.app.databases.symptoms import evidence_of
from lutra_service.db.store import UnitOfWork

from tests.support.cli import faults
from tests.support.service.hosted import Agent, Service
from tests.unit.symptoms.cases import CASES

SPILLING = {"database.temp_files_per_s": 2.0, "database.temp_bytes_per_s": 1.6e7}
START = datetime(2026, 3, 1, tzinfo=UTC)
FORCED = next(c for c in CASES if c.name == "checkpoints_forced")


def history(service: Service, database: str, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.take("GET", f"/v1/databases/{database}/symptoms/history{query}")["items"]
    return found


def one(service: Service, database: str, name: str = "sorts_spill") -> dict[str, Any]:
    found = service.take("GET", f"/v1/databases/{database}/symptoms")["symptoms"]
    made: dict[str, Any] = next(s for s in found if s["name"] == name)
    return made


def evident(service: Service, database: str) -> set[str]:
    """What a session would go by."""

    def names(unit: UnitOfWork) -> set[str]:
        found = evidence_of(unit, context_of(unit, unit.databases.get(database)), None)
        return {f.name for f in found.findings}

    return service.store.read(names)


def in_a_year() -> str:
    return (datetime.now(UTC) + timedelta(days=365)).isoformat()


def test_the_document_is_what_the_agents_look_and_the_service_both_give() -> None:
    case = FORCED
    made = listed(case.diagnosis(case.shown), case.server.engine, START)
    assert set(made) == set(SymptomsAnswer.model_fields)
    assert set(made["symptoms"][0]) == set(SymptomAnswer.model_fields)
    assert set(made["not_judged"][0]) == set(NotJudgedAnswer.model_fields)
    assert SymptomsAnswer.model_validate(made).model_dump(mode="json") == made


def test_since_when_a_finding_shows_is_kept_without_anybody_asking(
    service: Service, agent: Agent, database: str
) -> None:
    for _ in range(2):
        agent.send(agent.report(**agent.window(**SPILLING)))
    path = f"/v1/databases/{database}/symptoms/history"
    service.until(path, lambda page: any(i["name"] == "sorts_spill" for i in page["items"]))
    (found,) = [i for i in history(service, database, "?gone=false") if i["name"] == "sorts_spill"]
    assert found["gone_at"] is None
    assert one(service, database)["since"] == found["since"]
    assert history(service, database, "?gone=true") == []


def looked(service: Service, database: str, minutes: int, *shown: Symptom, not_judged: tuple[str, ...] = ()) -> None:
    def keep(unit: UnitOfWork) -> None:
        unit.now = START + timedelta(minutes=minutes)
        before = unit.databases.get(database).looked_at
        findings.keep(unit, findings.Look(database, before, Diagnosis(shown, 3, 30.0, 9, not_judged)))

    service.store.write(keep)


def test_a_finding_goes_comes_back_and_begins_anew(
    service: Service, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    symptom = FORCED.seen(FORCED.shown)
    assert symptom is not None
    looked(service, database, 0, symptom)
    looked(service, database, 5, replace(symptom, strength=0.4))
    looked(service, database, 6, not_judged=(symptom.name,))
    assert [(f["gone_at"], f["strength"]) for f in history(service, database)] == [(None, 0.4)]
    looked(service, database, 10)
    (gone,) = history(service, database, "?gone=true")
    token = service.headers["Authorization"].removeprefix("Bearer ")
    monkeypatch.setattr(Client, "from_environment", lambda: Client(token=token, http=service.client))
    told = CliRunner().invoke(main, ["findings", "--gone", "--json"])
    assert faults("EpisodeAnswer", told.stdout) == []
    assert (gone["since"], gone["last_seen"]) == ("2026-03-01T00:00:00Z", "2026-03-01T00:05:00Z")
    assert gone["gone_at"] == "2026-03-01T00:10:00Z"
    looked(service, database, 20, symptom)
    (back,) = history(service, database)
    assert (back["since"], back["gone_at"]) == (gone["since"], None)
    looked(service, database, 21)
    looked(service, database, 200, symptom)
    new, old = history(service, database)
    assert (new["since"], new["gone_at"]) == ("2026-03-01T03:20:00Z", None)
    assert old["gone_at"] == "2026-03-01T00:21:00Z"
    assert history(service, database, "?since=2026-03-01T02:00:00Z") == [new]


def test_a_look_that_another_process_was_faster_with_is_forgotten(service: Service, database: str) -> None:
    symptom = FORCED.seen(FORCED.shown)
    assert symptom is not None
    looked(service, database, 0)
    late = findings.Look(database, None, Diagnosis((symptom,), 3, 30.0))
    service.store.write(lambda unit: findings.keep(unit, late))
    assert history(service, database) == []


def test_a_risk_is_accepted_for_a_reason_and_a_time_and_withdrawn(
    service: Service, agent: Agent, database: str
) -> None:
    for _ in range(2):
        agent.send(agent.report(**agent.window(**SPILLING)))
    path = f"/v1/databases/{database}/symptoms/accepted"
    until = in_a_year()
    assert "sorts_spill" in evident(service, database)
    made = service.take("PUT", f"{path}/sorts_spill", {"because": "reports at night", "until": until})
    assert (made["kind"], made["because"]) == ("fault", "reports at night")
    found = service.take("GET", f"/v1/databases/{database}/symptoms")["symptoms"]
    assert found[-1]["name"] == "sorts_spill"
    assert found[-1]["accepted"]["because"] == "reports at night"
    assert "sorts_spill" not in evident(service, database)
    service.take("PUT", f"{path}/sorts_spill", {"because": "still at night", "until": until})
    assert [a["because"] for a in service.take("GET", path)["items"]] == ["still at night"]
    service.take("DELETE", f"{path}/sorts_spill")
    assert service.take("GET", path)["items"] == []
    assert one(service, database)["accepted"] is None
    assert "sorts_spill" in evident(service, database)
    assert service.code("DELETE", f"{path}/sorts_spill") == (404, "not_found")
    audit = service.take("GET", f"/v1/databases/{database}/audit")["items"]
    told = [(a["action"], a["target"], (a["after"] or {}).get("because")) for a in audit if "symptom" in a["action"]]
    assert told == [
        ("symptom.withdraw", "sorts_spill", None),
        ("symptom.accept", "sorts_spill", "still at night"),
        ("symptom.accept", "sorts_spill", "reports at night"),
    ]


def test_an_acceptance_that_makes_no_sense_is_refused(service: Service, agent: Agent, database: str) -> None:
    path = f"/v1/databases/{database}/symptoms/accepted"
    good = {"because": "it is a copy", "until": in_a_year()}
    assert service.code("PUT", f"{path}/sort_spill", good) == (404, "not_found")
    assert service.code("PUT", f"{path}/sorts_spill", {**good, "until": "2020-01-01T00:00:00Z"})[0] == 422
    assert service.code("PUT", f"{path}/sorts_spill", {**good, "because": "  "})[0] == 422
    assert agent.code("PUT", f"{path}/sorts_spill", good)[0] == 403
    assert service.code("GET", "/v1/databases/db_nothing/symptoms/history") == (404, "not_found")


def test_a_deleted_database_takes_its_findings_along(service: Service, database: str) -> None:
    symptom = FORCED.seen(FORCED.shown)
    assert symptom is not None
    looked(service, database, 0, symptom)
    path = f"/v1/databases/{database}/symptoms/accepted/sorts_spill"
    service.take("PUT", path, {"because": "it is a copy", "until": in_a_year()})
    service.take("PUT", f"/v1/databases/{database}/retired")
    service.take("DELETE", f"/v1/databases/{database}")
    assert service.store.read(lambda unit: unit.findings.newest(database)) == {}
    assert service.store.read(lambda unit: unit.accepted.of(database)) == []
