"""What is asked all the time finds its rows by an index, however many others there are: on both stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lutra_service.db import migrate
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store, UnitOfWork
from sqlalchemy import Engine, event, text

pytestmark = pytest.mark.slow

REPORTS = 100_000
BIG = "db_000001"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LARGE = (
    *("reports", "recommendations", "events", "snapshots", "idempotency_keys", "settings"),
    *("load_hours", "audit"),
)

SERIES = {
    "sqlite": "WITH RECURSIVE s(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM s WHERE n < {last}) ",
    "postgresql": "WITH s AS (SELECT n FROM generate_series({first}, {last}) n) ",
}
MOMENT = "'2026-01-01 00:00:00'"
HOURS_AGO = {
    "sqlite": "datetime('2026-01-01', '-' || ({}) || ' hours')",
    "postgresql": "timestamp '2026-01-01' - ({}) * interval '1 hour'",
}
ID = {"sqlite": "printf('%06d', {})", "postgresql": "to_char({}, 'FM000000')"}


class Filling:
    """Rows made by the database itself: half of them belong to one database, as a busy one's do."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.dialect = engine.dialect.name

    def id(self, prefix: str, number: str) -> str:
        return f"'{prefix}_' || {ID[self.dialect].format(number)}"

    def rows(self, count: int, into: str, select: str) -> None:
        series = SERIES[self.dialect].format(first=1, last=count)
        columns = into.partition(" ")
        statement = f"INSERT INTO {columns[0]} {columns[2]} {series} SELECT {select} FROM s"
        with self.engine.begin() as connection:
            connection.exec_driver_sql(statement.replace("%", "%%") if self.dialect == "postgresql" else statement)

    def fill(self) -> None:
        owner = self.id("db", "CASE WHEN n % 2 = 0 THEN 1 ELSE 1 + n % 100 END")
        session = self.id("ts", "CASE WHEN n % 2 = 0 THEN 1 ELSE 1 + n % 100 END")
        t, zero = MOMENT, "'{}'"
        self.rows(
            100,
            "databases (id, name, engine, policy, created_at, peak_connections)",
            f"{self.id('db', 'n')}, {self.id('db', 'n')}, 'postgresql', {zero}, {t}, 0",
        )
        self.rows(
            100,
            "sessions (id, database_id, state, objective_metric, objective_goal, limits, mode, approval, "
            "max_trials, seed, message, verification_rounds, exploration, created_at)",
            f"{self.id('ts', 'n')}, {self.id('db', 'n')}, 'running', 'qps', 'maximize', '[]', 'lab', "
            f"'automatic', 1000, 1, '', 0, 0, {t}",
        )
        self.rows(
            20_000,
            "recommendations (id, database_id, session_id, kind, state, key, seed, package_version, "
            "before, configuration, digest, measured, created_at, ended_at)",
            f"{self.id('rec', 'n')}, {owner}, {session}, 'search', 'confirmed', {self.id('k', 'n')}, 1, '1', "
            f"{zero}, {zero}, {self.id('d', 'n')}, {zero}, {t}, {t}",
        )
        self.rows(
            REPORTS,
            "reports (database_id, session_id, recommendation_id, agent, epoch, sequence, sent_at, "
            "received_at, window_start, window_end, settings_hash, configuration, metrics, context, outcomes, "
            "windows)",
            f"{owner}, {session}, {self.id('rec', '1 + n % 20000')}, 'a', 'e', n, {t}, {t}, {t}, {t}, "
            f"{self.id('h', 'n % 1000')}, {zero}, '{{\"qps\": 1.5}}', {zero}, '[]', 1",
        )
        self.rows(
            20_000,
            "events (id, database_id, session_id, agent_event, guard, at, received_at, told)",
            f"{self.id('ev', 'n')}, {owner}, {session}, {self.id('e', 'n')}, 'p99', {t}, {t}, {zero}",
        )
        self.rows(
            20_000,
            "audit (id, at, database_id, action, target, token_name, address, request_id)",
            f"{self.id('aud', 'n')}, {t}, {owner}, 'recommendation.ask', {self.id('rec', 'n')}, 'x', '', ''",
        )
        self.rows(
            5_000,
            "snapshots (id, database_id, session_id, key, observations, payload, created_at)",
            f"{self.id('snap', 'n')}, {owner}, {session}, 'k', 1, {zero}, {t}",
        )
        self.rows(
            20_000,
            "idempotency_keys (token_id, key, request_hash, status, response, created_at)",
            f"'tok_1', {self.id('k', 'n')}, 'h', 201, {zero}, {t}",
        )
        self.rows(
            5_000, "settings (database_id, hash, settings, first_seen_at)", f"{owner}, {self.id('h', 'n')}, {zero}, {t}"
        )
        self.rows(
            96_000,
            "load_hours (id, database_id, hour, p99_of, windows, newest, qps)",
            f"{self.id('lh', 'n')}, {self.id('db', '1 + n % 40')}, {HOURS_AGO[self.dialect].format('n / 40')}, "
            f"'log of statement', 360, n, 1.5",
        )
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE" if self.dialect == "postgresql" else "ANALYZE")


BEFORE, SINCE = NOW - timedelta(days=14), NOW - timedelta(days=1)
QUESTIONS: dict[str, Callable[[UnitOfWork], Any]] = {
    "a page of windows": lambda u: u.reports.windows(BIG, 50, None),
    "a later page of windows": lambda u: u.reports.windows(BIG, 50, 40_000),
    "a page of a small database": lambda u: u.reports.windows("db_000006", 50, None),
    "whether a report is known": lambda u: u.reports.is_stored(BIG, "a", "e", 200_000),
    "whether an old report is known": lambda u: u.reports.is_stored(BIG, "a", "e", 7),
    "an agent's last number": lambda u: u.reports.newest_sequence(BIG, "a", "e"),
    "reports without settings": lambda u: u.reports.fill_configuration(BIG, "h_000001", {}),
    "what a recommendation measured": lambda u: u.reports.of_recommendation("rec_000002"),
    "what is to be done": lambda u: u.recommendations.in_states(BIG, ("approved",)),
    "what a session waits for": lambda u: u.recommendations.of_kind(
        "ts_000001", ("search",), ("computing", "approved")
    ),
    "a session's handovers": lambda u: u.recommendations.of_kind("ts_000007", ("handover",)),
    "a session's last trials": lambda u: u.recommendations.last_ended("ts_000001", ["search"], SINCE, SINCE, 5),
    "a session's trials": lambda u: u.recommendations.of_session("ts_000007"),
    "whether settings were measured": lambda u: u.recommendations.measured_under(BIG, {"work_mem": 1}),
    "a page of recommendations": lambda u: u.recommendations.listed(BIG, 50, None),
    "what is to be computed": lambda u: u.jobs.waiting(("recommendation",), NOW, ("db_000001",)),
    "what was withdrawn under way": lambda u: u.recommendations.withdrawn(BIG),
    "a page of the audit trail": lambda u: u.audit.listed(50, None, BIG, None),
    "what waited too long": lambda u: u.recommendations.overdue(NOW, NOW, NOW),
    "a page of events": lambda u: u.events.listed(BIG, 50, None),
    "whether an event is known": lambda u: u.events._one(
        u.events.table.c.database_id == BIG, u.events.table.c.agent_event == "e"
    ),
    "the newest model": lambda u: u.snapshots.newest_ids("db_000007", 16),
    "a repeated request": lambda u: u.answers.given("tok_1", "k_000001"),
    "stored settings": lambda u: u.databases.settings(BIG, "h_000002"),
    "settings of some reports": lambda u: u.bulk.kept([(BIG, "h_000002"), ("db_000006", "h_000003")]),
    "whose reports may have consequences": lambda u: u.bulk.busy([BIG, "db_000006", "db_000007"], u.now, 12),
    "which sessions have enough readings": lambda u: u.workloads.measured([f"ts_{i:06d}" for i in range(2, 18)], 3),
    "the load of all databases in two weeks": lambda u: u.load_hours.between(BEFORE, NOW),
    "the load of a database in two weeks": lambda u: u.load_hours.between(BEFORE, NOW, BIG),
    "the newest report in a database's load": lambda u: u.load_hours.newest(BIG),
    "the newest changes of all databases": lambda u: u.audit.within(NOW, ["recommendation.apply", "guard.fire"], 50),
    "the newest changes of a database": lambda u: u.audit.within(NOW, ["recommendation.apply", "guard.fire"], 50, BIG),
    "recommendations by their ids": lambda u: u.recommendations.named([f"rec_{i:06d}" for i in range(2, 52)]),
    "what waits for a decision anywhere": lambda u: u.recommendations.waiting(50),
    "what waits for a decision on a database": lambda u: u.recommendations.waiting(50, BIG),
    "old heartbeats": lambda u: u.retention.delete_heartbeats(BIG, BEFORE),
    "old windows": lambda u: u.retention.mergeable("db_000008", BEFORE),
    "surplus reports": lambda u: u.retention.delete_surplus_reports(BIG, BEFORE, 2000),
    "old answers": lambda u: u.retention.delete_answers(BEFORE),
}
ORDERED = ["the newest model", "an agent's last number"]
PAGES = [name for name in QUESTIONS if "page" in name] + ORDERED


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.engine)])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    if request.param == "sqlite":
        made = make_engine(f"sqlite:///{tmp_path_factory.mktemp('plans')}/lutra.db")
    else:
        server = request.getfixturevalue("postgres18")
        server.sql("CREATE DATABASE plans")
        made = make_engine(server.url("plans"))
    migrate.upgrade(made)
    Filling(made).fill()
    yield made
    made.dispose()
    if request.param == "postgresql":
        server.sql("DROP DATABASE plans WITH (FORCE)")


@contextmanager
def asked(engine: Engine) -> Iterator[list[tuple[str, Any]]]:
    found: list[tuple[str, Any]] = []

    def remember(_c: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        found.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", remember)
    yield found
    event.remove(engine, "before_cursor_execute", remember)


def plans(engine: Engine, question: Callable[[UnitOfWork], Any]) -> list[str]:
    with asked(engine) as statements:
        Store(engine).read(question)
    explain = "EXPLAIN QUERY PLAN " if engine.dialect.name == "sqlite" else "EXPLAIN "
    found = []
    with engine.connect() as connection:
        for statement, parameters in statements:
            rows = connection.exec_driver_sql(explain + statement, parameters).all()
            found.append("\n".join(str(row[-1]) for row in rows))
    assert found
    return found


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_large_table_is_read_from_end_to_end(engine: Engine, name: str) -> None:
    for plan in plans(engine, QUESTIONS[name]):
        for table in LARGE:
            assert f"Seq Scan on {table}" not in plan, plan
            assert not any(line.strip() == f"SCAN {table}" for line in plan.splitlines()), plan


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_read_in_its_order_and_never_sorted(engine: Engine, name: str) -> None:
    for plan in plans(engine, QUESTIONS[name]):
        assert "Sort" not in plan, plan
        assert "TEMP B-TREE" not in plan, plan


def test_what_a_session_learned_is_ranked_without_reading_its_documents(engine: Engine) -> None:
    plan = "\n".join(plans(engine, lambda u: u.reports.of_session("ts_000001", 20)))
    assert "ix_reports_learned" in plan, plan
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM reports")).scalar() == REPORTS


def test_readings_are_counted_by_session_also_where_the_store_has_no_statistics(tmp_path: Path) -> None:
    engine = make_engine(f"sqlite:///{tmp_path}/lutra.db")
    migrate.upgrade(engine)
    plan = "\n".join(plans(engine, QUESTIONS["which sessions have enough readings"]))
    assert "ix_recommendations_session " in plan, plan
    engine.dispose()
