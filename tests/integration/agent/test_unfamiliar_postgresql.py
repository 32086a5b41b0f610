"""PostgreSQL as others run it: behind a pooler, with texts in any encoding, with tables that come and go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.families import family
from lutra_agent.engines.postgresql.server.connect import POOLER, STATEMENT_TIMEOUT_MS, Connection
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase
from lutra_agent.errors import ApplyRefused
from lutra_agent.metrics.rates import Span, span
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.reported.samples import sample
from tests.support.servers.engines import STATEMENTS, scratch
from tests.support.servers.pooler import POOL, pooler
from tests.support.waiting import until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

LATIN1 = 'SELECT 1 AS "café"'.encode("latin-1")
SESSION = "SELECT current_setting('statement_timeout'), (SELECT count(*) FROM pg_prepared_statements)"


def section(server: ScratchPostgres, port: int | None = None, dbname: str | None = None) -> PostgresqlDatabase:
    where = ("postgresql", server.host, port or server.port, server.user)
    return PostgresqlDatabase(*where, dbname=dbname or server.dbname)


@contextmanager
def engine_of(server: ScratchPostgres, port: int | None = None, dbname: str | None = None) -> Iterator[Engine]:
    engine = family("postgresql").open(section(server, port, dbname))
    try:
        yield engine
    finally:
        engine.health.close()


def window(engine: Engine) -> Span:
    before = sample(engine)
    found = span(before, sample(engine))
    assert isinstance(found, Span)
    return found


def of_clients(server: ScratchPostgres, port: int) -> set[tuple[str, int]]:
    """What as many clients as the pool has sessions find in theirs."""
    found = set()
    clients = [psycopg.connect(f"host={server.host} port={port} user={server.user} dbname={server.dbname}",
                               autocommit=True, prepare_threshold=None) for _ in range(POOL)]  # fmt: skip
    for client in clients:
        with client:
            row = psycopg.ClientCursor(client).execute(SESSION).fetchone()
            assert row is not None
            found.add((row[0], row[1]))
    return found


@pytest.mark.parametrize("mode", ["session", "transaction", "statement"])
def test_a_pooler_is_recognised_observed_through_and_keeps_nothing_of_the_agent(
    postgres15: ScratchPostgres, mode: str
) -> None:
    with pooler(postgres15, mode) as port:
        with engine_of(postgres15, port) as engine:
            found = window(engine)
            assert (*found.before.problems, *found.after.problems, *found.problems) == ()
            targets = engine.telemetry.targets(found.before, found.after)
            assert {"tps", "qps"} <= targets.metrics.keys()
            seen = {v.name: v for v in engine.telemetry.visible()}
            assert seen["the server itself"].remedy == POOLER
            assert not seen["running transactions"].available
            assert engine.server(None).role == "primary"
            with pytest.raises(ApplyRefused, match="a pooler answers"):
                engine.own.execute(engine.own.undo("work_mem", "8192", "4096", restart=False))
        assert of_clients(postgres15, port) == {("0", 0)}


def test_a_statement_behind_a_pooler_has_its_time_limit(postgres18: ScratchPostgres) -> None:
    with pooler(postgres18, "transaction") as port:
        connection = Connection(section(postgres18, port))
        limit = connection.row("SELECT current_setting('statement_timeout')")
        assert connection.pooled
        connection.close()
    assert limit == (f"{STATEMENT_TIMEOUT_MS // 1000}s",)


def test_a_server_itself_is_no_pooler(postgres18: ScratchPostgres) -> None:
    connection = Connection(section(postgres18))
    assert not connection.pooled
    connection.close()


def test_temporary_tables_of_other_sessions_disturb_no_window(postgres18: ScratchPostgres) -> None:
    postgres18.sql("CREATE TABLE IF NOT EXISTS kept (n int)")
    with engine_of(postgres18) as engine, psycopg.connect(postgres18.conninfo(), autocommit=True) as other:
        before = sample(engine)
        other.execute("CREATE TEMP TABLE staging AS SELECT 1 AS n")
        found = span(before, sample(engine))
        assert isinstance(found, Span)
        assert found.problems == ()
        assert "tables.seq_scans_per_s" in found.rates


def test_a_table_that_comes_costs_the_figures_of_tables_alone_and_is_named(postgres18: ScratchPostgres) -> None:
    postgres18.sql("CREATE TABLE IF NOT EXISTS kept (n int)")
    with engine_of(postgres18) as engine:
        before = sample(engine)
        postgres18.sql("CREATE TABLE passing (n int)")
        try:
            found = span(before, sample(engine))
        finally:
            postgres18.sql("DROP TABLE passing")
        assert isinstance(found, Span)
        assert [problem.partition(":")[0] for problem in found.problems] == ["tables"]
        assert "tables.seq_scans_per_s" not in found.rates
        assert "tables.live_rows" in found.rates
        assert engine.telemetry.targets(found.before, found.after).metrics.keys() >= {"tps"}


@pytest.fixture(scope="module")
def of_two_encodings() -> Iterator[ScratchPostgres]:
    with scratch("postgres15", **STATEMENTS) as server:
        server.sql("CREATE DATABASE legacy TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'")
        for name in (server.dbname, "legacy"):
            with psycopg.connect(server.conninfo(name), autocommit=True) as client:
                client.execute("CREATE EXTENSION pg_stat_statements")
        yield server


def test_a_database_without_an_encoding_is_read(of_two_encodings: ScratchPostgres) -> None:
    with engine_of(of_two_encodings, dbname="legacy") as engine:
        assert window(engine).after.problems == ()
        assert engine.server(None).version.startswith("15.")


def test_a_statement_that_cannot_be_converted_costs_no_figure_and_is_named(of_two_encodings: ScratchPostgres) -> None:
    with psycopg.connect(of_two_encodings.conninfo("legacy"), autocommit=True) as client:
        client.pgconn.exec_(LATIN1)
    for dbname in (of_two_encodings.dbname, "legacy"):
        with engine_of(of_two_encodings, dbname=dbname) as engine:
            found = window(engine)
            assert "qps" in engine.telemetry.targets(found.before, found.after).metrics
            named = [p for p in found.after.problems if "a text cannot be read" in p]
            assert len(named) == (dbname != "legacy")
            assert len(found.after.problems) == len(named)


@pytest.mark.parametrize(("setting", "off"), [("pg_stat_statements.track", "none"), ("compute_query_id", "off")])
def test_an_extension_that_counts_nothing_gives_no_qps_and_the_setting_is_named(
    of_two_encodings: ScratchPostgres, setting: str, off: str
) -> None:
    server = of_two_encodings
    server.sql(f"ALTER SYSTEM SET {setting} = '{off}'")
    try:
        server.sql("SELECT pg_reload_conf()")
        until(lambda: server.sql(f"SHOW {setting}") == off)
        with engine_of(server, dbname="legacy") as engine:
            found = window(engine)
            assert "qps" not in engine.telemetry.targets(found.before, found.after).metrics
            assert found.after.problems == (f"statements: pg_stat_statements counts nothing: {setting} = {off}",)
            seen = {v.name: v for v in engine.telemetry.visible()}["pg_stat_statements"]
            assert not seen.available
            assert seen.remedy.startswith(f"ALTER SYSTEM SET {setting} = ")
    finally:
        server.sql(f"ALTER SYSTEM RESET {setting}")
        server.sql("SELECT pg_reload_conf()")
        until(lambda: server.sql(f"SHOW {setting}") != off)


@pytest.mark.parametrize("style", ["SQL, DMY", "German", "Postgres, MDY"])
def test_times_in_any_style_are_read(postgres18: ScratchPostgres, style: str) -> None:
    postgres18.sql(f"ALTER DATABASE {postgres18.dbname} SET DateStyle = '{style}'")
    try:
        with engine_of(postgres18) as engine:
            found = window(engine)
            assert (*found.after.problems, *found.problems) == ()
            assert "wal.bytes_per_s" in found.rates
    finally:
        postgres18.sql(f"ALTER DATABASE {postgres18.dbname} RESET DateStyle")


def test_a_limit_to_idle_connections_costs_no_window(postgres18: ScratchPostgres) -> None:
    agents = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lutra-agent'"
    # Whoever watches transactions looks so often that its own connection never idles.
    idling = f"{agents} AND query NOT LIKE '%extract(epoch FROM statement_timestamp()),%'"
    # Longer than a slow machine takes from a connection to its first statement.
    postgres18.sql(f"ALTER DATABASE {postgres18.dbname} SET idle_session_timeout = '2s'")
    try:
        with engine_of(postgres18) as engine:
            before = sample(engine)
            until(lambda: postgres18.sql(idling) == "0")
            engine.health.ping()
            found = span(before, sample(engine))
            assert isinstance(found, Span)
            assert (*found.after.problems, *found.problems) == ()
    finally:
        postgres18.sql(f"ALTER DATABASE {postgres18.dbname} RESET idle_session_timeout")
