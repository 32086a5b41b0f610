"""A PostgreSQL with many things made wrong: a load that shows them, the cures, and the symptoms gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from lutra_agent.clock import SystemClock
from lutra_agent.commands.symptoms import look, report, show
from lutra_agent.runtime.compose import local_database
from lutra_lab.servers.base import ScratchServer, Session
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.agent.processes import config
from tests.support.fakes.clock import START, FakeClock
from tests.support.reported.samples import sample
from tests.support.servers.engines import POSTGRES, scratch
from tests.support.servers.symptomatic import Patient, cures
from tests.support.waiting import until

pytestmark = pytest.mark.engine

WRONG = {
    "autovacuum": "off",
    "autovacuum_naptime": "1s",
    "bgwriter_delay": "10ms",
    "bgwriter_lru_maxpages": "1",
    "checkpoint_completion_target": "0.1",
    "cpu_tuple_cost": "10",
    "effective_cache_size": "8MB",
    "fsync": "off",
    "max_connections": "20",
    "max_parallel_workers": "1",
    "max_wal_size": "32MB",
    "min_wal_size": "32MB",
    "random_page_cost": "40",
    "shared_buffers": "1MB",
    "wal_buffers": "32kB",
    "work_mem": "64kB",
}
COMMON = {
    "autovacuum_off",
    "background_writer_stops",
    "buffers_small",
    "cache_unknown_to_planner",
    "checkpoints_forced",
    "connections_near_limit",
    "cpu_costs_odd",
    "random_reads_overpriced",
    "sorts_spill",
    "wal_buffers_full",
}
SHOWN = {
    "postgres15": COMMON | {"jit_costs"},
    "postgres18": COMMON | {"sessions_write_pages", "parallel_workers_short"},
}
STATEMENTS = {"shared_preload_libraries": "pg_stat_statements", "jit_above_cost": "0"}
ROWS = 35_000
FILL = f"CREATE TABLE t AS SELECT g AS id, 0 AS v, repeat('x', 150) AS pad FROM generate_series(1, {ROWS}) g"
SORT = "SELECT sum(length(pad)) FROM (SELECT md5(id::text) AS k, pad FROM t ORDER BY k OFFSET 0) s"
ONE = f"SELECT v FROM t WHERE id = (g * 7919::bigint) % {ROWS}"
READ = f"SELECT sum(x.v) FROM generate_series(1, 12000) g, LATERAL ({ONE}) x"
FORCED = {
    "postgres15": "SELECT checkpoints_req FROM pg_stat_bgwriter",
    "postgres18": "SELECT num_requested FROM pg_stat_checkpointer",
}
CHECKPOINTER = "SELECT wait_event FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
STOPS = "SELECT maxwritten_clean FROM pg_stat_bgwriter"
MANY_STOPS = 150
"""More than a tenth of the rounds that a writer with this delay makes in a window."""
PARALLEL = "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0"


@pytest.fixture(params=POSTGRES)
def ill(request: pytest.FixtureRequest) -> Iterator[tuple[str, ScratchServer]]:
    more = STATEMENTS if request.param == "postgres15" else {}
    with scratch(request.param, **WRONG, **more) as server:
        if more:
            server.sql("CREATE EXTENSION pg_stat_statements")
        for statement in (FILL, "CREATE UNIQUE INDEX ON t (id)", "VACUUM ANALYZE t", *2 * ("UPDATE t SET v = v + 1",)):
            server.sql(statement)
        begin_a_segment(request.param, server)
        yield request.param, server


def begin_a_segment(name: str, server: ScratchServer) -> None:
    """Of WAL, whose end alone forces a checkpoint: from here on each of them stands for as much WAL as that."""
    with server.session() as run:
        run("CHECKPOINT")
        until(lambda: "CheckpointerMain" in run(CHECKPOINTER))
        before = int(run(FORCED[name]))
        run("SELECT pg_switch_wal()")
        until(lambda: int(run(FORCED[name])) > before)


def load(run: Session) -> None:
    """Updates, sorts, point reads and scans, and all of it counted."""
    for _ in range(3):
        run("UPDATE t SET v = v + 1")
        until(lambda: "CheckpointerMain" in run(CHECKPOINTER))  # a slow disk would merge two
    for _ in range(5):
        run(SORT)
    run("SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off")
    run(READ)
    run(f"RESET ALL; {PARALLEL}")
    for _ in range(12):
        run("SELECT count(*) FROM t WHERE v >= 0")
    run("RESET ALL")
    run("SELECT pg_stat_force_next_flush()")


def load_until_it_shows(name: str, run: Session) -> None:
    """As often as it takes: what the server's own processes do meanwhile is a matter of the machine's speed."""
    wanted = {STOPS: int(run(STOPS)) + MANY_STOPS, FORCED[name]: int(run(FORCED[name])) + 2}
    until(lambda: load(run) or all(int(run(count)) >= least for count, least in wanted.items()))


@contextmanager
def crowd(server: ScratchServer) -> Iterator[Session]:
    """The load's connection and seventeen more: all that the server has besides an agent's two."""
    with ExitStack() as others:
        for _ in range(17):
            others.enter_context(server.session())
        yield others.enter_context(server.session())


def test_what_is_wrong_shows_with_its_cure_and_is_gone_with_it(ill: tuple[str, ScratchServer], tmp_path: Path) -> None:
    name, server = ill
    patient = Patient(server, tmp_path)
    with crowd(server) as run:
        found = patient.seen(lambda: load_until_it_shows(name, run))
    assert SHOWN[name] <= set(found)
    assert {n for n in patient.unmeasured if not n.startswith("statements.")} == set()
    for setting, value in cures(found).items():
        server.sql(f"ALTER SYSTEM SET {setting} = '{value}'")
    server.stop()
    server.start()
    with crowd(server) as run:
        again = patient.seen(lambda: load(run))
    assert not SHOWN[name] & set(again)


def test_an_agent_shows_what_it_sees_without_the_service(postgres15: ScratchServer, tmp_path: Path) -> None:
    made = config(postgres15, "http://127.0.0.1:9", tmp_path)
    found = look(made, 1.0, FakeClock())
    assert found.windows == 1
    assert show(report(found, made, START), as_json=False).startswith("1 windows, 1 s\n")


OFF = "CREATE TABLE {name} (a int) WITH (autovacuum_enabled = off)"
COUNTED = "SELECT pg_sleep(1.1)"
"""Servers of old versions count what a session did once a second at most."""


@pytest.mark.parametrize("name", POSTGRES)
def test_tables_without_autovacuum_are_named_and_their_statements_end_it(name: str, tmp_path: Path) -> None:
    with scratch(name, autovacuum="on", autovacuum_naptime="1h", fsync="off") as server:
        patient = Patient(server, tmp_path)
        odd, quiet = '"Old; orders, ""all"""', "quiet"
        for table in (odd, quiet, "queue"):
            server.sql(OFF.format(name=table))
        assert "autovacuum_off_for_tables" not in patient.seen(lambda: None)

        with server.session() as run:
            for table, rows in ((odd, 3000), ("queue", 1500)):
                run(f"INSERT INTO {table} SELECT generate_series(1, {rows})")
                run(f"DELETE FROM {table}")
        server.sql(COUNTED)
        found = patient.seen(lambda: None)["autovacuum_off_for_tables"]
        assert "by their own storage parameter: 3." in found.sentence
        assert f"would have run: 2 ({odd}, queue), with" in found.sentence
        assert "with 4,500 dead rows in total" in found.sentence
        for statement in found.statements:
            server.sql(statement)
        server.sql(COUNTED)
        assert "autovacuum_off_for_tables" not in patient.seen(lambda: None)


@pytest.mark.parametrize("name", POSTGRES)
def test_who_holds_dead_rows_is_counted_by_kind_in_transactions(name: str, tmp_path: Path) -> None:
    """What reads nothing any more holds nothing, nor does what holds rows of another database."""
    with scratch(name, max_prepared_transactions="5", wal_level="logical", fsync="off") as server:
        assert isinstance(server, ScratchPostgres)
        engine = local_database(config(server, "http://127.0.0.1:9", tmp_path), SystemClock()).engine

        def ages() -> dict[str, float]:
            server.sql("SELECT txid_current()")
            found = sample(engine)
            assert found.problems == ()
            return dict(found.readings["horizon"].gauges)

        server.sql("CREATE TABLE t (a int)")
        server.sql("CREATE DATABASE other")
        idle = ages()
        assert (idle["prepared_xids"], idle["slot_xids"], idle["standby_xids"]) == (0, 0, 0)
        with psycopg.connect(server.conninfo(), autocommit=True) as lost:
            lost.execute("BEGIN")
            lost.execute("INSERT INTO t VALUES (1)")
            lost.execute("PREPARE TRANSACTION 'lost'")
        assert ages()["prepared_xids"] < ages()["prepared_xids"]
        with psycopg.connect(server.conninfo()) as writer:
            writer.execute("INSERT INTO t VALUES (2)")
            held = ages()
            assert 0 < held["session_xids"] < held["prepared_xids"] == held["server_xids"]
        server.sql("ROLLBACK PREPARED 'lost'")
        with psycopg.connect(server.conninfo(dbname="other")) as reader:
            reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            reader.execute("SELECT 1 FROM pg_class")
            ages()
            held = ages()
            assert (held["session_xids"], held["prepared_s"]) == (0, 0)
            assert held["server_xids"] >= 2
        server.sql("SELECT pg_create_logical_replication_slot('lost', 'pgoutput')")
        server.sql("VACUUM")
        ages()
        held = ages()
        assert (held["slot_xids"], held["slot_catalog_xids"] > 0) == (0, True)
        engine.health.close()
