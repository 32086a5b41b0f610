"""What is true of a real PostgreSQL at a moment: limits, rights, files, roles, as the agent reads them."""

from __future__ import annotations

import psycopg
import pytest
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.reported.samples import sample
from tests.support.servers.engines import POSTGRES, scratch
from tests.support.servers.subjects import engine_of

pytestmark = pytest.mark.engine


def gauges(server: ScratchPostgres, user: str = "postgres") -> dict[str, float]:
    """Each gauge of one sample, by its metric's name; none of it failed."""
    engine = engine_of(server, user=user)
    try:
        seen = sample(engine)
        assert seen.problems == ()
        return {f"{name}.{gauge}": value for name, r in seen.readings.items() for gauge, value in r.gauges.items()}
    finally:
        engine.health.close()


@pytest.mark.parametrize("name", POSTGRES)
def test_what_is_made_wrong_is_read(name: str) -> None:
    with scratch(name, max_prepared_transactions="4") as server:
        assert isinstance(server, ScratchPostgres)
        healthy = gauges(server)
        quiet = ("limits.prepared", "hba.open_remote", "hba.errors", "files.errors", "overrides.read_only_databases")
        assert {n: healthy[n] for n in quiet} == dict.fromkeys(quiet, 0.0)
        assert (healthy["recovery.in_recovery"], healthy["software.started_again"]) == (0.0, 0.0)
        _make_wrong(server)
        where = f"host={server.host} port={server.port} user=few dbname=postgres"
        with psycopg.connect(where), psycopg.connect(where):
            found = gauges(server)
        expected = {
            "limits.prepared": 1,
            "limits.account_used": 2,
            "limits.account_limit": 2,
            "hba.open_remote": 1,
            "hba.open_anywhere": 1,
            "hba.clear_text": 1,
            "hba.errors": 1,
            "files.errors": 1,
            "overrides.read_only_databases": 1,
            "overrides.without_triggers": 1,
            "collations.outdated_databases": 1,
            "software.pending": 1,
        }
        assert {n: found[n] for n in expected} == expected
        assert found["limits.prepared_s"] > 0


def test_an_account_without_rights_is_told_less_and_nothing_fails(postgres: ScratchPostgres) -> None:
    postgres.sql("CREATE ROLE stranger LOGIN")
    try:
        found = gauges(postgres, "stranger")
        assert not any(name.startswith(("hba.", "files.", "archive.")) for name in found)
        assert "limits.prepared" in found
    finally:
        postgres.sql("DROP ROLE stranger")


def _make_wrong(server: ScratchPostgres) -> None:
    with server.session() as run:
        run("BEGIN")
        run("CREATE TABLE t (n int)")
        run("PREPARE TRANSACTION 'forgotten'")
    server.sql("CREATE ROLE few LOGIN CONNECTION LIMIT 2")
    server.sql("ALTER ROLE few SET session_replication_role = 'replica'")
    server.sql("CREATE DATABASE archive")
    server.sql("ALTER DATABASE archive SET default_transaction_read_only = 'On'")
    server.sql("UPDATE pg_database SET datcollversion = '0' WHERE datname = 'archive'")
    server.sql(
        "UPDATE pg_database SET datlocprovider = 'c', datcollate = 'en_US.UTF-8', datctype = 'en_US.UTF-8'"
        " WHERE datname = 'archive'"
    )
    server.sql("ALTER SYSTEM SET max_files_per_process = 500")
    server.sql("SELECT pg_reload_conf()")
    rules, settings = server.data_dir / "pg_hba.conf", server.data_dir / "postgresql.conf"
    with settings.open("a") as file:
        file.write("\nwork_mem = lots\n")
    more = ("host all all 0.0.0.0/0 trust", "host all all 10.0.0.0/8 password", "host all all 10.0.0.0/8")
    with rules.open("a") as file:
        file.write("\n" + "\n".join(more) + "\n")
