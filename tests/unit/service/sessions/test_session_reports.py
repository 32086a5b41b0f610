"""What is read of a session's many reports."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from lutra_service.app.databases.current_server import context_of
from lutra_service.app.tuning.record import histories
from lutra_service.db.schema.records import StoredReport

from tests.support.service.hosted import Agent, Service

pytestmark = pytest.mark.slow

SESSION = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "reload_only"}


@pytest.fixture
def session(service: Service, agent: Agent, database: str) -> str:
    agent.send()
    id_: str = service.take("POST", f"/v1/databases/{database}/sessions", SESSION)["id"]
    return id_


def store(service: Service, session: str, numbers: range, **more: Any) -> None:
    """One window for each of `numbers`, its QPS that number."""

    epoch = uuid4().hex

    def add(unit: Any) -> None:
        database = unit.databases.get(unit.sessions.get(session).database_id)
        active = dict(context_of(unit, database).active)
        for n in numbers:
            end = unit.now + timedelta(seconds=n)
            values: dict[str, Any] = {
                "settings_hash": "h1",
                "configuration": active,
                "metrics": {"qps": float(n)},
                "window_start": end - timedelta(seconds=1),
                "window_end": end,
                "sent_at": end,
                "received_at": end,
                "context": {},
                **more,
            }
            common: dict[str, Any] = {"agent": "a", "epoch": epoch, "sequence": n, "outcomes": []}
            unit.reports.add(StoredReport(database_id=database.id, session_id=session, **common, **values))

    service.store.write(add)


def read(service: Service, session: str, newest: int, **more: Any) -> list[float | None]:
    found = service.store.read(lambda u: u.reports.of_session(session, newest, **more))
    return [r.metrics.get("qps") for r in found]


def test_of_windows_that_say_the_same_only_the_newest_are_read(service: Service, session: str) -> None:
    store(service, session, range(1, 6))
    store(service, session, range(11, 14), settings_hash="h2")
    store(service, session, range(6, 8))
    assert read(service, session, 3) == [5.0, 11.0, 12.0, 13.0, 6.0, 7.0]


def test_reports_that_say_nothing_push_no_window_out(service: Service, session: str) -> None:
    store(service, session, range(1, 4))
    store(service, session, range(4, 8), metrics={})
    store(service, session, range(8, 12), configuration=None)
    store(service, session, range(12, 16), p99_source="driver", p99_of="statement", metrics={"p99_ms": 1.0})
    assert read(service, session, 2) == [2.0, 3.0, None, None]


def test_a_failure_is_read_though_nothing_was_measured(service: Service, session: str) -> None:
    store(service, session, range(1, 2), metrics={}, failure="did_not_start", window_end=None, window_start=None)
    assert read(service, session, 2) == [None]


def test_what_came_before_the_server_became_another_one_is_not_read(service: Service, session: str) -> None:
    since: datetime = service.store.read(lambda u: u.now)
    store(service, session, range(1, 3), received_at=since - timedelta(days=1))
    store(service, session, range(3, 5), received_at=since + timedelta(days=1))
    assert read(service, session, 9, since=since) == [3.0, 4.0]


def test_a_session_that_is_open_for_long_reads_no_more_than_it_learns_from(service: Service, session: str) -> None:
    store(service, session, range(1, 60))

    def seen(unit: Any) -> list[float]:
        found = unit.sessions.get(session)
        space = context_of(unit, unit.databases.get(found.database_id), found).space
        return [o.metrics["qps"] for o in histories.observations(unit, found, space)]

    kept = histories.WINDOWS_PER_CONFIGURATION
    assert service.store.read(seen) == [float(n) for n in range(60 - kept, 60)]
    assert len(read(service, session, kept)) == kept


def test_of_a_recommendations_windows_the_newest_are_read_in_their_order(
    service: Service, session: str, database: str
) -> None:
    wish = {"settings": {"work_mem": "8MB"}}
    id_ = service.take("POST", f"/v1/databases/{database}/recommendations", wish)["id"]
    store(service, session, range(1, 8), recommendation_id=id_)
    found = service.store.read(lambda u: u.reports.of_recommendation(id_, newest=3))
    assert [r.metrics["qps"] for r in found] == [5.0, 6.0, 7.0]
    assert read(service, session, 9, trials_only=True) == [float(n) for n in range(1, 8)]


def test_the_load_of_each_window_goes_with_it(service: Service, session: str) -> None:
    store(service, session, range(1, 3), context={"clients": 8})
    store(service, session, range(3, 5), context={"clients": 64}, settings_hash="h2")
    failed = {"metrics": {}, "failure": "driver_failed"}
    store(service, session, range(5, 6), context={"clients": 64}, settings_hash="h3", **failed)
    store(service, session, range(6, 7), settings_hash="h4")
    seen = service.take("GET", f"/v1/sessions/{session}/history")["observations"]
    clients = [o["context"] and o["context"]["clients"] for o in seen]
    assert clients == [8, 8, 64, 64, 64, None]
