"""Reports that are stored together leave what each of them alone would have left."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from lutra_models.wire import Receipt, Report
from lutra_service.app.errors import NameTaken
from lutra_service.app.reports import bulk_intake, intake
from lutra_service.app.reports.bulk_intake import Arrival
from lutra_service.app.reports.configurations import Configurations
from lutra_service.db.schema.tables import DatabaseRow, ReportRow
from lutra_service.db.store import Store, UnitOfWork
from sqlalchemy import select

from tests.support.service.hosted import Agent, Service

pytestmark = pytest.mark.slow

Tables = dict[str, list[dict[str, Any]]]


def some_of(seeds: int, quick: int) -> list[Any]:
    """The first few of the seeds before each commit, all of them in the whole suite."""
    return [pytest.param(seed, marks=pytest.mark.slow if seed >= quick else ()) for seed in range(seeds)]


def bulk(store: Store, database: str, report: Report, known: Configurations) -> Receipt | str:
    """As `ReportWriter` does it."""
    arrival = Arrival(database, report)
    (receipt,) = store.write(lambda unit: bulk_intake.accept(unit, [arrival], known))
    return receipt or alone(store, database, report)


def alone(store: Store, database: str, report: Report) -> Receipt | str:
    """The receipt, or the code of its refusal."""
    try:
        return store.write(lambda unit: intake.accept(unit, database, report))
    except NameTaken as refused:
        return refused.code


def stored(store: Store, database: str) -> Tables:
    """What is known of a database and of its reports, but for ids and names."""

    def read(unit: UnitOfWork) -> Tables:
        found = {}
        for table, own in ((DatabaseRow.__table__, "id"), (ReportRow.__table__, "database_id")):
            rows = unit.bulk._db.execute(select(table).where(table.c[own] == database).order_by(table.c.id)).mappings()
            left_out = ("id", "name", "database_id", "created_at", "looked_at")
            found[str(table)] = [{k: v for k, v in row.items() if k not in left_out} for row in rows]
        return found

    return store.read(read)


def reports(agent: Agent, seed: int) -> list[Report]:
    """Some of everything: gaps, repetitions, old ones, a second agent, heartbeats, settings, failures, outcomes."""
    chance = random.Random(seed)
    found = [agent.report()]
    for _ in range(30):
        body = agent.report(**(agent.window(qps=chance.random()) if chance.random() < 0.8 else {}))
        if chance.random() < 0.9:
            del body["settings"]
        changes: dict[str, dict[str, Any]] = {
            "again": chance.choice(found),
            "old": {**body, "sequence": max(0, body["sequence"] - chance.randrange(5))},
            "other": {**body, "agent": "agent2", "epoch": f"epoch{chance.randrange(2)}"},
            "unknown settings": {**body, "settings_hash": "never_sent"},
            "failed": {**body, "failure": "did_not_start"},
            "load": {**body, "context": {"clients": chance.randrange(3)}},
            "connections": {**body, "peak_connections": chance.randrange(40)},
        }
        found.append(changes.get(chance.choice(("plain", "plain", *changes)), body))
    return [Report.model_validate(body) for body in found]


@pytest.mark.parametrize("seed", some_of(6, quick=2))
def test_it_leaves_the_same_rows_and_gives_the_same_receipts(service: Service, agent: Agent, seed: int) -> None:
    other = service.take("POST", "/v1/databases", {"name": "other", "engine": "postgresql"})["id"]
    store, known = service.store, Configurations()
    moment = store.now()
    for number, report in enumerate(reports(agent, seed)):
        store._clock = lambda now=moment + timedelta(seconds=number): now
        assert bulk(store, agent.database, report, known) == alone(store, other, report)
        assert stored(store, agent.database) == stored(store, other)


@pytest.mark.slow
@pytest.mark.parametrize("seed", some_of(3, quick=1))
def test_so_do_reports_of_several_servers_that_share_a_transaction_and_what_was_read(
    service: Service, agent: Agent, seed: int
) -> None:
    """Of servers whose settings are the same but for their version, and of one that differs under the same hash."""
    store, known, moment = service.store, Configurations(), service.store.now()
    together = [agent, *(service.agent(service.database(f"server{n}")) for n in (1, 2))]
    together[1].facts = {"engine_version": "12.3"}
    together[2].apply({"work_mem": 8192})
    apart = [service.agent(service.database(f"apart{n}")).database for n in range(3)]
    streams = [[r.model_copy(update={"settings_hash": "h"}) for r in reports(a, seed)] for a in together]
    for number, each in enumerate(zip(*streams, strict=True)):
        store._clock = lambda now=moment + timedelta(seconds=number): now
        arrivals = [Arrival(a.database, report) for a, report in zip(together, each, strict=True)]
        found = store.write(lambda unit, some=arrivals: bulk_intake.accept(unit, some, known))  # type: ignore[misc]
        for receipt, arrival, other in zip(found, arrivals, apart, strict=True):
            answer = receipt or alone(store, arrival.database_id, arrival.report)
            assert answer == alone(store, other, arrival.report)
            assert stored(store, arrival.database_id) == stored(store, other)


def test_what_was_read_of_settings_holds_for_every_server_that_has_them(
    service: Service, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [service.agent(service.database(f"server{n}")) for n in range(3)]
    others[2].apply({"work_mem": 8192})
    arrivals = []
    for each in (agent, *others):
        each.send(each.report(settings_hash="h"))
        body = each.report(settings_hash="h", identifier=each.database, **each.window(qps=900.0))
        del body["settings"]
        arrivals.append(Arrival(each.database, Report.model_validate(body)))
    read: list[object] = []
    configuration = bulk_intake.configuration
    monkeypatch.setattr(bulk_intake, "configuration", lambda *given: read.append(given) or configuration(*given))
    found = service.store.write(lambda unit: bulk_intake.accept(unit, arrivals, Configurations()))
    assert None not in found
    assert len(read) == 2
    kept = [stored(service.store, a.database_id)["reports"][-1]["configuration"]["work_mem"] for a in arrivals]
    assert kept == [4096, 4096, 4096, 8192]


def test_most_reports_are_stored_so(service: Service, agent: Agent) -> None:
    agent.send()
    known = Configurations()
    for _ in range(3):
        body = agent.report(**agent.window(qps=900.0))
        del body["settings"]
        arrival = Arrival(agent.database, Report.model_validate(body))
        (receipt,) = service.store.write(lambda unit, a=arrival: bulk_intake.accept(unit, [a], known))
        assert receipt is not None


def test_what_belongs_to_a_session_or_to_a_change_is_not(service: Service, agent: Agent) -> None:
    agent.send()
    service.take(
        "POST", f"/v1/databases/{agent.database}/sessions", {"objective": {"metric": "qps", "goal": "maximize"}}
    )
    body = agent.report(**agent.window(qps=900.0))
    del body["settings"]
    arrival = Arrival(agent.database, Report.model_validate(body))
    assert service.store.write(lambda unit: bulk_intake.accept(unit, [arrival], Configurations())) == [None]


def test_one_that_is_refused_leaves_the_others_their_place(service: Service, agent: Agent, tmp_path: Path) -> None:
    agent.send()
    body = agent.report(**agent.window(qps=900.0))
    del body["settings"]
    good = Arrival(agent.database, Report.model_validate(body))
    bad = Arrival("db_unknown", good.report)
    found = service.store.write(lambda unit: bulk_intake.accept(unit, [bad, good], Configurations()))
    assert [receipt is not None for receipt in found] == [False, True]
