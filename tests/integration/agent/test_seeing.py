"""What the agent sees of real servers, and what it ships."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from lutra_agent.commands.check import examine
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.families import family
from lutra_agent.engines.postgresql.server.connect import Connection
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase
from lutra_agent.engines.postgresql.telemetry.collect import EVERY
from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable
from lutra_agent.metrics.rates import Discarded, Span, span
from lutra_agent.runtime.compose import running
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_models.catalog import load, meet
from lutra_models.catalog.statements import Step
from lutra_models.server import Host, Policy

from tests.support.agent.processes import TOKEN, agent_process, config, document, write_toml
from tests.support.fakes.engine import NoSignals
from tests.support.fakes.service import FakeService, serving
from tests.support.reported.samples import sample
from tests.support.servers import certificates
from tests.support.servers.certificates import authority
from tests.support.servers.engines import scratch
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.engine

HOST = Host(memory_bytes=8 << 30, cores=4)
ROLES = "SELECT rolname FROM pg_roles WHERE rolname IN ('watcher', 'reporting')"
UNCHANGED = "SELECT count(*) FROM pg_settings WHERE sourcefile LIKE '%postgresql.auto.conf'"


def engine_of(server: ScratchPostgres, user: str | None = None, **more: Any) -> Engine:
    where = ("postgresql", server.host, server.port, user or server.user)
    return family("postgresql").open(PostgresqlDatabase(*where, dbname=server.dbname, **more))


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", TOKEN)
    with serving(FakeService()) as found:
        yield found


@pytest.fixture
def changed_postgres(postgres: ScratchPostgres) -> Iterator[ScratchPostgres]:
    """Each PostgreSQL in turn, whose settings and roles a test may change: both are taken back."""
    yield postgres
    for role in postgres.sql(ROLES).splitlines():
        postgres.sql(f"DROP OWNED BY {role}")
        postgres.sql(f"DROP ROLE {role}")
    postgres.sql("ALTER SYSTEM RESET ALL")
    postgres.sql("SELECT pg_reload_conf()")
    assert until(lambda: postgres.sql(UNCHANGED) == "0")


@pytest.fixture
def account(changed_postgres: ScratchPostgres) -> str:
    """An account without any privilege."""
    changed_postgres.sql("CREATE ROLE watcher LOGIN")
    return "watcher"


def test_every_collector_of_this_version_works(postgres: ScratchPostgres) -> None:
    engine = engine_of(postgres)
    first = sample(engine)
    assert first.problems == ()
    major = int(postgres.version.split(".")[0])
    assert set(first.readings) == {"server", "room", "data"} | {c.name for c in EVERY if c.query(major) is not None}
    found = span(first, sample(engine))
    assert not isinstance(found, Discarded)
    assert found.problems == ()
    engine.health.close()


def test_a_statistics_reset_costs_what_it_counts_for_one_window_and_is_named(postgres: ScratchPostgres) -> None:
    engine = engine_of(postgres)
    before = sample(engine)
    postgres.sql("SELECT pg_stat_reset()")

    def reset() -> Span | None:
        found = span(before, sample(engine))
        assert isinstance(found, Span)
        return found if found.problems else None

    found = until(reset)
    assert found is not None
    assert {problem.partition(":")[0] for problem in found.problems} <= {"database", "tables", "catalogs"}
    assert "database.xact_commit_per_s" not in found.rates
    assert "wal.bytes_per_s" in found.rates
    assert "tps" not in engine.telemetry.targets(found.before, found.after).metrics
    again = span(sample(engine), sample(engine))
    assert isinstance(again, Span)
    assert again.problems == ()
    engine.health.close()


def test_only_the_catalogues_settings_leave_the_host(postgres: ScratchPostgres) -> None:
    engine = engine_of(postgres)
    server = engine.server(HOST)
    assert set(server.settings) <= {r.name for r in load("postgresql").rows_for(server.version)}
    assert server.role == "primary"
    assert meet(server).values["max_connections"] == 100
    engine.health.close()


def test_the_text_in_the_settings_file_is_kept_so_that_the_undo_is_exact(changed_postgres: ScratchPostgres) -> None:
    changed_postgres.sql("ALTER SYSTEM SET work_mem = '5MB'")
    changed_postgres.sql("SELECT pg_reload_conf()")
    engine = engine_of(changed_postgres)
    settings = until(lambda: (s := engine.server(HOST).settings)["work_mem"].value == "5120" and s)
    assert settings["work_mem"].persisted == "5MB"
    assert settings["shared_buffers"].persisted is None
    engine.health.close()


def test_check_names_a_database_that_has_most_data_and_the_tables_that_are_read_whole(
    postgres: ScratchPostgres,
) -> None:
    rows = "SELECT g AS id, repeat('x', 500) AS filler FROM generate_series(1, 160000) g"

    def visible() -> dict[str, str]:
        engine = engine_of(postgres)
        try:
            return {v.name: v.detail for v in engine.telemetry.visible() if v.available}
        finally:
            engine.health.close()

    assert not {"tables", "tables read whole"} & visible().keys()
    postgres.sql("CREATE DATABASE shop")
    try:
        with psycopg.connect(postgres.conninfo("shop"), autocommit=True) as shop:
            shop.execute(f"CREATE TABLE orders AS {rows}")
        told = visible()["tables"]
        assert told.startswith(f"those of database {postgres.dbname} alone, ")
        assert "database.dbname = 'shop' would show" in told
    finally:
        postgres.sql("DROP DATABASE shop WITH (FORCE)")
    postgres.sql("CREATE TABLE orders AS SELECT g AS id, g % 7 AS customer FROM generate_series(1, 20000) g")
    try:
        postgres.sql("ALTER TABLE orders ADD PRIMARY KEY (id)")
        postgres.sql("ANALYZE orders")
        postgres.sql("SELECT count(*) FROM orders WHERE customer = 3")
        assert until(lambda: "public.orders" in visible().get("tables read whole", ""))
        assert sample(engine_of(postgres)).readings["tables"].gauges["bare_share"] > 0.9
        postgres.sql("CREATE INDEX ON orders (customer)")
        assert "tables read whole" not in visible()
        assert sample(engine_of(postgres)).readings["tables"].gauges["bare_share"] < 0.5
    finally:
        postgres.sql("DROP TABLE orders")


def test_a_value_of_a_role_or_a_database_concerns_that_one_alone_and_the_setting_moves_for_all_others(
    changed_postgres: ScratchPostgres,
) -> None:
    server = changed_postgres
    server.sql("CREATE ROLE reporting")
    server.sql("ALTER ROLE reporting SET work_mem = '64MB'")
    server.sql(f"ALTER ROLE reporting IN DATABASE {server.dbname} SET jit = off")
    server.sql("ALTER DATABASE template1 SET work_mem = '9MB'")
    server.sql("ALTER TABLESPACE pg_default SET (random_page_cost = 1.3)")
    try:
        engine = engine_of(server)
        found = engine.server(HOST).settings
        assert (found["work_mem"].value, found["work_mem"].shadowed) == ("4096", None)
        assert found["work_mem"].unreached == "database template1, role reporting"
        assert found["jit"].unreached == f"role reporting in database {server.dbname}"
        assert found["random_page_cost"].unreached == "tablespace pg_default"
        assert "work_mem" in meet(engine.server(HOST)).space(Policy()).names
        server.sql("ALTER ROLE ALL SET work_mem = '5MB'")
        assert engine.server(HOST).settings["work_mem"].shadowed == "ALTER ROLE ALL"
        engine.health.close()
    finally:
        server.sql("ALTER ROLE ALL RESET ALL")
        server.sql("ALTER DATABASE template1 RESET ALL")
        server.sql("ALTER TABLESPACE pg_default RESET (random_page_cost)")


def test_a_value_of_the_agents_own_role_and_database_is_not_taken_for_the_servers(
    changed_postgres: ScratchPostgres, account: str
) -> None:
    server = changed_postgres
    server.sql("ALTER SYSTEM SET work_mem = '6MB'")
    server.sql("SELECT pg_reload_conf()")
    assert until(lambda: server.sql("SHOW work_mem") == "6MB")
    server.sql("ALTER ROLE watcher SET work_mem = '64MB'")
    server.sql(f"ALTER DATABASE {server.dbname} SET jit = off")
    try:
        blind = engine_of(server, account).server(HOST).settings["work_mem"]
        assert (blind.value, "RESET work_mem shows it" in str(blind.shadowed)) == ("65536", True)
        server.sql("GRANT pg_read_all_settings TO watcher")
        server.sql("GRANT SELECT ON pg_file_settings TO watcher")
        server.sql("GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO watcher")
        found = engine_of(server, account).server(HOST).settings
        assert (found["work_mem"].value, found["work_mem"].shadowed) == ("6144", None)
        assert (found["work_mem"].source, found["work_mem"].unreached) == ("configuration file", "role watcher")
        assert (found["jit"].value, found["jit"].source, found["jit"].shadowed) == ("on", "default", None)
    finally:
        server.sql(f"ALTER DATABASE {server.dbname} RESET ALL")


def test_an_account_without_privileges_sees_what_it_may_and_is_told_the_grants(
    changed_postgres: ScratchPostgres, account: str
) -> None:
    engine = engine_of(changed_postgres, account)
    assert sample(engine).problems == ()
    permissions = engine.own.permissions(["work_mem", "jit"])
    assert permissions.changeable == frozenset()
    for grant in permissions.remedies:
        changed_postgres.sql(grant)
    granted = engine.own.permissions(["work_mem", "jit"])
    assert granted.changeable == {"work_mem", "jit"}
    assert granted.may_reload
    engine.own.execute(engine.own.undo("work_mem", "8MB", "8192", restart=False))
    engine.own.activation.reload()
    assert until(lambda: changed_postgres.sql("SHOW work_mem") == "8MB")
    with pytest.raises(ApplyRefused) as refused:
        engine.own.execute([Step("max_wal_size", "ALTER SYSTEM SET max_wal_size = '2GB'")])
    assert refused.value.apply_code == "insufficient_privilege"
    engine.health.close()


def test_an_account_that_cannot_see_what_the_settings_file_says_changes_nothing(
    changed_postgres: ScratchPostgres, account: str
) -> None:
    changed_postgres.sql("ALTER SYSTEM SET work_mem = '64MB'")
    changed_postgres.sql("SELECT pg_reload_conf()")
    changed_postgres.sql(f"GRANT ALTER SYSTEM ON PARAMETER work_mem TO {account}")
    changed_postgres.sql(f"GRANT EXECUTE ON FUNCTION pg_reload_conf() TO {account}")
    engine = engine_of(changed_postgres, account)
    assert until(lambda: engine.server(HOST).settings["work_mem"].value == "65536")
    assert engine.server(HOST).settings["work_mem"].persisted is None
    blind = engine.own.permissions(["work_mem"])
    assert (blind.changeable, blind.remedies) == (frozenset(), (f'GRANT pg_monitor TO "{account}";',))
    changed_postgres.sql(blind.remedies[0])
    assert engine.own.permissions(["work_mem"]).changeable == {"work_mem"}
    assert engine.server(HOST).settings["work_mem"].persisted == "65536"
    engine.health.close()


def test_a_cancelled_statement_does_not_close_the_gate_and_a_server_that_is_gone_does(
    own_postgres: ScratchPostgres,
) -> None:
    engine = engine_of(own_postgres)
    connection = engine.health._session.connection  # type: ignore[attr-defined]
    with pytest.raises(CollectionFailed, match="canceling statement"):
        connection.rows(f"SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep({PATIENCE_S})")
    engine.health.ping()
    own_postgres.crash()
    with pytest.raises(DatabaseUnavailable):
        engine.health.ping()
    own_postgres.start()
    engine.health.ping()
    engine.health.close()


def test_a_backend_that_is_stopped_is_a_database_that_does_not_answer_and_the_next_connection_is_a_new_one(
    postgres: ScratchPostgres,
) -> None:
    where = PostgresqlDatabase("postgresql", postgres.host, postgres.port, postgres.user, dbname=postgres.dbname)
    connection = Connection(where, answer_s=PATIENCE_S)
    backend = connection.row("SELECT pg_backend_pid()")[0]
    os.kill(backend, signal.SIGSTOP)
    try:
        connection._answer_s = 0.2  # of this one alone: the next may take its time
        with pytest.raises(DatabaseUnavailable, match=r"no answer within 0\.2 s"):
            connection.rows("SELECT 1")
        connection._answer_s = PATIENCE_S
        assert connection.row("SELECT pg_backend_pid()")[0] != backend
    finally:
        os.kill(backend, signal.SIGCONT)
    connection.close()


def test_a_server_without_tls_gets_no_connection_where_an_authority_is_named(
    postgres15: ScratchPostgres, tmp_path: Path
) -> None:
    engine = engine_of(postgres15, tls_ca=authority(tmp_path))
    with pytest.raises(DatabaseUnavailable, match="does not support SSL"):
        engine.health.ping()
    engine.health.close()


def test_a_server_proves_its_name_to_the_agent_and_another_authority_does_not() -> None:
    with tempfile.TemporaryDirectory(prefix="lutra-test-") as name:
        folder, ca = Path(name), authority(Path(name))
        certificate, key = certificates.server(folder, ca)
        options = {"ssl": "on", "ssl_cert_file": str(certificate), "ssl_key_file": str(key)}
        with scratch("postgres15", **options) as server:
            proved = engine_of(server, tls_ca=ca)
            connection = proved.health._session.connection  # type: ignore[attr-defined]
            assert connection.row("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()") == (True,)
            proved.health.close()
            for verify in ("identity", "ca"):
                other = engine_of(server, tls_ca=authority(folder, "other"), tls_verify=verify)
                with pytest.raises(DatabaseUnavailable, match="certificate verify failed"):
                    other.health.ping()
                other.health.close()


def test_statements_give_qps_and_an_estimate_without_the_agents_own(postgres15: ScratchPostgres) -> None:
    engine = engine_of(postgres15, watch_transactions=False)
    for _ in range(3):
        before = sample(engine)
    with postgres15.session() as run:
        for _ in range(200):
            run("SELECT count(*) FROM pg_class WHERE relname LIKE 'x%'")
    targets = engine.telemetry.targets(before, sample(engine))
    assert targets.metrics["qps"] == 200
    assert targets.latency is not None
    assert (targets.latency.source, targets.latency.of) == ("estimated", "statement")
    engine.health.close()


@pytest.mark.parametrize("name", ["postgres15", "postgres18"])
def test_an_idle_server_has_no_tps_whatever_the_agent_asks_it(name: str) -> None:
    committed = "xact_commit"
    with scratch(name, autovacuum="off") as server:
        engine = engine_of(server)
        before = sample(engine)

        def window() -> tuple[float, float]:
            after = sample(engine)
            counted = [s.readings["database"].counters[committed] for s in (before, after)]
            return engine.telemetry.targets(before, after).metrics["tps"], counted[1] - counted[0]

        # The server counts the agent's own transactions, and none of them is load.
        assert until(lambda: (found := window())[0] == 0 and found[1] > 50)
        before = sample(engine)
        for _ in range(100):
            server.sql("SELECT count(*) FROM pg_class")
        assert until(lambda: window()[0] > 0)
        engine.health.close()


def test_a_server_without_statement_statistics_gives_tps_alone(postgres18: ScratchPostgres) -> None:
    engine = engine_of(postgres18, watch_transactions=False)
    before = sample(engine)
    targets = engine.telemetry.targets(before, sample(engine))
    assert set(targets.metrics) == {"tps"}
    assert targets.latency is None
    engine.health.close()


@pytest.mark.slow
def test_reports_wait_on_disk_while_the_service_is_away_and_arrive_in_order(
    postgres18: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    made = config(postgres18, service.url, tmp_path / "state", mode="observe")
    with running(made, signals=NoSignals()) as loop:
        loop.cycle()
        assert loop.sent(PATIENCE_S)
        service.refuse = 503
        for _ in range(3):
            loop.cycle()
        assert len(service.reports) == 1
        service.refuse = None
        loop.cycle()
        assert loop.sent(PATIENCE_S)
    assert [r.sequence for r in service.reports] == [0, 1, 2, 3, 4]
    assert all(r.window for r in service.reports[1:])
    assert service.reports[0].settings
    assert all(r.settings is None for r in service.reports[1:])


@pytest.mark.slow
def test_a_reinstalled_agent_is_not_taken_for_the_old_one(
    postgres18: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    for folder in ("old", "new"):
        with running(config(postgres18, service.url, tmp_path / folder), signals=NoSignals()) as loop:
            loop.cycle()
            assert loop.sent(PATIENCE_S)
    first, second = service.reports[0], service.reports[-1]
    assert (first.agent, first.sequence) == (second.agent, second.sequence)
    assert first.epoch != second.epoch


@pytest.mark.slow
def test_the_gate_closes_while_the_database_is_down_and_opens_again(
    own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    made = config(own_postgres, service.url, tmp_path / "state", mode="observe", agent={"restart_warmup_s": 1})
    with running(made, signals=NoSignals()) as loop:
        loop.run(ended=lambda: any(r.window for r in service.reports))
        own_postgres.stop()
        loop.cycle()
        assert loop.sent(PATIENCE_S)
        assert service.reports[-1].status.problems
        assert service.reports[-1].window is None
        own_postgres.start()
        told = len(service.reports)
        loop.run(ended=lambda: any(r.window for r in service.reports[told:]))
    assert service.reports[-1].status.problems == []


@pytest.mark.slow
def test_no_secret_is_in_a_report_a_log_or_an_argument_list(
    postgres18: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("hunter2-secret\n")
    (tmp_path / "password").chmod(0o600)
    made = document(postgres18, service.url, tmp_path / "state", database={"password_file": str(tmp_path / "password")})
    made["driver"] = {"kind": "pgbench", "bin": str(postgres18.bin_dir / "pgbench"), "duration_s": 1, "warmup_s": 0}
    with agent_process(write_toml(tmp_path / "agent.toml", made)) as process:
        until(lambda: len(service.reports) > 1)
        arguments = Path(f"/proc/{process.pid}/cmdline").read_text()
    seen = arguments + (tmp_path / "agent.log").read_text() + "".join(r.model_dump_json() for r in service.reports)
    assert "hunter2-secret" not in seen
    assert TOKEN not in seen
    assert service.authorizations == {f"Bearer {TOKEN}"}


def test_check_says_what_is_missing_and_prints_the_grants(
    changed_postgres: ScratchPostgres, account: str, tmp_path: Path
) -> None:
    sections: dict[str, Any] = {"database": {"user": account}}
    made = document(changed_postgres, "http://127.0.0.1:1", tmp_path / "state", mode="reload_only", **sections)
    file = write_toml(tmp_path / "agent.toml", made)
    done = subprocess.run(
        [sys.executable, "-m", "lutra_agent", "check", "--json", "--config", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    found = json.loads(done.stdout)
    grants = [m for m in found["missing"] if m.startswith("GRANT")]
    assert any("ON PARAMETER" in g for g in grants)
    for grant in grants:
        changed_postgres.sql(grant)
    after = examine(config(changed_postgres, "http://127.0.0.1:1", tmp_path / "state", mode="reload_only", **sections))
    assert not [m for m in after.missing if m.startswith("GRANT")]
    assert sorted(after.permissions.changeable) == sorted(found["movable"])
    assert not {"fsync", "max_connections", "shared_buffers"} & set(found["movable"])
