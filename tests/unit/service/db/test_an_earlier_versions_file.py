"""A database file that an earlier version left, with a session of four trials: everything in it is still of use."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from lutra_service.db.schema.records import StoredReport

from tests.support.service import Agent, Document, Service, running

pytestmark = pytest.mark.slow

DUMP = Path(__file__).parents[3] / "support/data/lutra_0004.sql"
"""Made with the schema of revision 0004, by a service whose models were fitted for real."""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    connection = sqlite3.connect(tmp_path / "lutra.db")
    connection.executescript(DUMP.read_text())
    connection.close()
    with running(tmp_path) as service:
        yield service


@pytest.fixture
def database(service: Service) -> str:
    (found,) = service.take("GET", "/v1/databases")["items"]
    return str(found["id"])


def last_report(service: Service, database: str) -> StoredReport:
    return service.store.read(lambda unit: unit.reports.windows(database, 1))[0]


def trials(service: Service, database: str) -> list[Document]:
    (session,) = service.take("GET", f"/v1/databases/{database}/sessions")["items"]
    found: list[Document] = service.take("GET", f"/v1/sessions/{session['id']}/trials")["items"]
    return found


def test_its_trials_are_shown_with_what_was_measured(service: Service, database: str) -> None:
    found = trials(service, database)
    assert len(found) == 4
    assert all(trial["measured"]["qps"] > 0 for trial in found)


def test_its_session_ends_as_it_was_begun_without_a_verification(service: Service, database: str) -> None:
    (session,) = service.take("GET", f"/v1/databases/{database}/sessions")["items"]
    assert (session["verification_rounds"], session["verification"]) == (None, None)


def test_its_model_answers(service: Service, database: str) -> None:
    answer = service.take("POST", f"/v1/databases/{database}/predictions", {"settings": {"work_mem": "8MB"}})
    predicted = answer["predictions"]["qps"]
    assert predicted["low"] < predicted["median"] < predicted["high"]


def test_its_agent_goes_on_where_it_was(service: Service, database: str) -> None:
    last = last_report(service, database)
    agent = service.agent(database, epoch=last.epoch)
    agent.name, agent.sequence = last.agent, last.sequence - 1
    agent.clock = last.sent_at - timedelta(seconds=10)  # the same report, byte for byte
    assert agent.send(agent.report(**agent.window(qps=900.0)))["duplicate"]
    assert not agent.send(agent.report(**agent.window(qps=900.0)))["duplicate"]
    body = agent.report(**agent.window(qps=900.0))
    del body["settings"]
    assert not agent.send(body)["duplicate"]
    assert last_report(service, database).sequence == last.sequence + 2


def test_its_session_can_be_followed_by_another(service: Service, database: str) -> None:
    agent = service.agent(database, epoch="later")
    assert isinstance(agent, Agent)
    agent.observe()
    wanted = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "reload_only"}
    service.take("POST", f"/v1/databases/{database}/sessions", wanted)
    assert service.recommended(database)["state"] == "proposed"
