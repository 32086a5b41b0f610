"""One agent's token gone bad: what it makes the service keep ends at the bound that the documentation names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lutra_models.errors import LutraError
from lutra_models.wire import Report
from lutra_service.app.databases import registration
from lutra_service.app.errors import QuotaExceeded
from lutra_service.app.reports import intake
from lutra_service.app.retention.policy import prune
from lutra_service.app.tuning.consequences.follow import follow
from lutra_service.common import limits
from lutra_service.db import migrate
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store
from sqlalchemy import Engine

from tests.support.service.hosted import POSTGRESQL, Agent, Document, Service, running

DAILY = 2 << 20
RETENTION = timedelta(days=2)


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that a test can reach."""
    for name, few in {"OLD_REPORTS": 20, "EVENTS": 20, "RECOMMENDATIONS": 5, "SESSIONS": 5, "SNAPSHOTS": 2}.items():
        monkeypatch.setattr(limits, name, few)
    monkeypatch.setattr(limits, "SNAPSHOT_BYTES", 10_000)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = make_engine(f"sqlite:///{tmp_path}/lutra.db")
    migrate.upgrade(engine)
    yield engine
    engine.dispose()


def hostile(number: int, now: datetime) -> Document:
    """Every text as long as it may be, every name its own: nothing in it is like anything in another one."""
    settings = {n: replace(s, persisted="p" * 200, source="s" * 500, shadowed="é" * 500) for n, s in POSTGRESQL.items()}
    window = {"start": now - timedelta(seconds=2), "end": now - timedelta(seconds=1)}
    figures = {"value": 9.0, "bound": 3.0, "limit": 3.0, "held_s": 10.0, "hold_s": 10.0, "since": now, "at": now}
    event = {"id": f"ev_{number}", "guard": "p99", "metric": "p99_ms", "message": "é" * 1000, **figures}
    return {
        "agent": f"agent{number % 7}",
        "epoch": f"epoch{number}",
        "sequence": number,
        "sent_at": now,
        "engine": "postgresql",
        "engine_version": "16.4",
        "host": {"memory_bytes": 8 << 30, "cores": 4},
        "settings_hash": f"h{number}",
        "settings": settings,
        "window": window,
        "metrics": {f"m{number}_{'x' * 100}_{i}": 1.0 for i in range(number % 500)},
        "failure": "=f" * 50 if number % 3 else None,
        "context": {f"c{i}": "c" * 200 for i in range(20)},
        "events": [event],
        "status": {"mode": "lab", "problems": ["é" * 100] * 20},
    }


def used_bytes(engine: Engine) -> int:
    with engine.connect() as connection:
        pages, free, size = (
            connection.exec_driver_sql(f"PRAGMA {name}").scalar() or 0
            for name in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * size


def flood(store: Store, database: str, first: int, count: int) -> tuple[int, int]:
    """How many of `count` reports were taken, and how many turned away."""
    taken = refused = 0
    for number in range(first, first + count):
        report = Report.model_validate(hostile(number, store.read(lambda unit: unit.now)))
        try:
            store.write(lambda unit, report=report: intake.accept(unit, database, report))  # type: ignore[misc]
            taken += 1
        except LutraError:
            refused += 1
    return taken, refused


@pytest.mark.slow
def test_a_flood_over_many_days_ends_at_the_bound(engine: Engine, few: None) -> None:
    clock = Clock()
    store = Store(engine, clock, daily_bytes=DAILY, follow=follow)
    database = store.write(lambda unit: registration.register(unit, "shop", "postgresql", {})).id
    empty = used_bytes(engine)
    bound = limits.most_bytes(RETENTION / timedelta(days=1), DAILY)
    taken = refused = 0
    for day in range(4):
        for half in range(2):
            some = flood(store, database, (day * 2 + half) * 100, 100)
            taken, refused = taken + some[0], refused + some[1]
            clock.now += timedelta(hours=12)
        prune(store, RETENTION)
        assert used_bytes(engine) - empty < bound
    assert taken > 100
    assert refused > taken, "the quota bites"
    clock.now += timedelta(days=30)
    pruned = prune(store, RETENTION)
    assert pruned["reports"]
    assert pruned["settings"]
    older = limits.OLD_REPORTS * limits.REPORT_BYTES + limits.EVENTS * limits.EVENT_BYTES
    assert used_bytes(engine) - empty < older + limits.SETTINGS_BYTES


@pytest.mark.slow
def test_without_any_pruning_a_day_adds_no_more_than_a_days_bytes(engine: Engine) -> None:
    clock = Clock()
    store = Store(engine, clock, daily_bytes=DAILY, follow=follow)
    database = store.write(lambda unit: registration.register(unit, "shop", "postgresql", {})).id
    empty = used_bytes(engine)
    assert flood(store, database, 0, 200)[1] > 50
    assert used_bytes(engine) - empty < 1.25 * (DAILY + limits.REPORT_BYTES + limits.SETTINGS_BYTES)


@pytest.mark.slow
def test_a_quota_that_is_used_up_is_told_with_the_time_to_wait_and_empties_by_itself(engine: Engine) -> None:
    clock = Clock()
    store = Store(engine, clock, daily_bytes=DAILY, follow=follow)
    database = store.write(lambda unit: registration.register(unit, "shop", "postgresql", {})).id
    flood(store, database, 0, 200)
    report = Report.model_validate(hostile(1000, clock.now))
    with pytest.raises(QuotaExceeded, match=r"LUTRA_DAILY_BYTES.* there is room in \d+ s") as told:
        store.write(lambda unit: intake.accept(unit, database, report))
    clock.now += timedelta(seconds=told.value.retry_after_s)
    assert not store.write(lambda unit: intake.accept(unit, database, report)).duplicate


def test_a_generous_quota_and_a_long_silence_are_no_trouble(engine: Engine) -> None:
    clock = Clock()
    store = Store(engine, clock, daily_bytes=1 << 60, follow=follow)
    database = store.write(lambda unit: registration.register(unit, "shop", "postgresql", {})).id
    assert flood(store, database, 0, 2) == (2, 0)
    clock.now += timedelta(days=365)
    assert flood(store, database, 2, 2) == (2, 0)


@pytest.fixture
def tight(tmp_path: Path) -> Iterator[Service]:
    with running(tmp_path, daily_bytes=1 << 20) as service:
        yield service


def fill(agent: Agent) -> int:
    """The status of the first report that is not taken."""
    while True:
        body = agent.report(**agent.window(**{f"m{agent.sequence}_{i}_{'x' * 60}": 1.0 for i in range(500)}))
        answer = agent.ask("POST", f"/v1/databases/{agent.database}/reports", body)
        if not answer.is_success:
            assert int(answer.headers["Retry-After"]) > 0
            return answer.status_code


@pytest.mark.slow
def test_an_agent_is_told_to_come_back_later_and_other_databases_go_on(tight: Service) -> None:
    bad, good = (tight.agent(tight.database(name)) for name in ("one", "two"))
    first = bad.report()
    bad.send(first)
    assert fill(bad) == 429
    assert bad.send(first)["duplicate"], "what was stored is still acknowledged"
    good.send()
    path = f"/v1/databases/{bad.database}"
    wanted = {"objective": {"metric": "m10_0_" + "x" * 60, "goal": "maximize"}}
    session = tight.take("POST", f"{path}/sessions", wanted)
    assert session["state"] == "running"
    assert tight.code("POST", f"{path}/recommendations") == (429, "quota_exceeded")
    assert tight.take("GET", f"{path}/windows")["items"]


def test_a_report_that_is_too_large_is_refused_for_good(service: Service, agent: Agent, database: str) -> None:
    many: dict[str, Any] = {f"m{i}_{'x' * 100}": 1.0 for i in range(2000)}
    assert agent.code("POST", f"/v1/databases/{database}/reports", agent.report(**agent.window(**many))) == (
        422,
        "invalid_report",
    )


def test_what_a_request_builds_on_is_stored_packed_and_read_whole(service: Service, agent: Agent) -> None:
    from lutra_service.db.repositories.repository import pack, unpack

    document = {"past": ["snap_1"], "history": {"observations": [{"qps": 0.1 + i / 3} for i in range(200)]}}
    stored = pack(document, ("past",))
    assert stored["past"] == ["snap_1"]
    assert unpack(stored) == document
