"""What the collectors of housekeeping, indexes, roles and locks count on real PostgreSQL servers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from lutra_agent.engines.postgresql.telemetry.collect import EVERY
from lutra_agent.engines.postgresql.telemetry.upkeep import SEQUENCES
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_models.symptoms import of_engine

from tests.support.waiting import until

pytestmark = pytest.mark.engine

UNGRANTED = "SELECT count(*) FROM pg_locks WHERE NOT granted"
SHOP = (
    "CREATE TABLE customer (id int PRIMARY KEY)",
    "CREATE TABLE bill (id serial PRIMARY KEY, customer int REFERENCES customer, state text)",
    "INSERT INTO customer SELECT generate_series(1, 100)",
    "INSERT INTO bill (customer, state) SELECT 1 + n % 100, 'new' FROM generate_series(1, 30000) n",
    "CREATE INDEX bill_state ON bill (state)",
    "CREATE INDEX bill_state_again ON bill (state)",
    "ALTER TABLE bill SET (autovacuum_enabled = off)",
    "VACUUM ANALYZE",
)


@pytest.fixture
def shop(postgres: ScratchPostgres) -> Iterator[ScratchPostgres]:
    for statement in SHOP:
        postgres.sql(statement)
    yield postgres
    postgres.sql("DROP TABLE bill, customer")


def told(server: ScratchPostgres, name: str) -> dict[str, Any]:
    """A collector's row as the server gives it."""
    collector = next(c for c in EVERY if c.name == name)
    query: Any = collector.query(int(server.version.split(".")[0]))
    with psycopg.connect(server.conninfo(), autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        values = cursor.fetchone()
        assert values is not None
        names = [column.name for column in cursor.description or ()]
    return dict(zip(names, values, strict=True))


def row(server: ScratchPostgres, name: str) -> dict[str, float]:
    """Its numbers alone."""
    return {n: float(v) for n, v in told(server, name).items() if isinstance(v, int | float | Decimal)}


def test_foreign_keys_that_nobody_checks_and_tables_without_a_key_are_counted(shop: ScratchPostgres) -> None:
    shop.sql("CREATE TABLE event AS SELECT generate_series(1, 20000) AS n")
    shop.sql("ALTER TABLE bill DISABLE TRIGGER ALL")
    shop.sql("ALTER TABLE bill ADD CONSTRAINT plausible CHECK (customer > 0) NOT VALID")
    shop.sql("CREATE PUBLICATION everything FOR TABLE event, bill")
    assert until(lambda: row(shop, "integrity")["without_key"] == 1)
    found = row(shop, "integrity")
    assert (found["unchecked"], found["not_valid"], found["unidentified"]) == (1, 1, 1)
    for statement in (
        "ALTER TABLE bill ENABLE TRIGGER ALL",
        "ALTER TABLE bill DROP CONSTRAINT plausible",
        "ALTER TABLE event REPLICA IDENTITY FULL",
    ):
        shop.sql(statement)
    mended = row(shop, "integrity")
    assert (mended["unchecked"], mended["not_valid"], mended["unidentified"]) == (0, 0, 0)
    shop.sql("DROP PUBLICATION everything")
    shop.sql("DROP TABLE event")


def test_the_locks_of_a_transaction_and_the_age_of_a_statement_are_told(shop: ScratchPostgres) -> None:
    before = row(shop, "blocking")["relations"]
    with psycopg.connect(shop.conninfo()) as holder, psycopg.connect(shop.conninfo(), autocommit=True) as sleeper:
        holder.execute("LOCK TABLE bill, customer IN SHARE MODE")
        assert row(shop, "blocking")["relations"] >= before + 2
        thread = threading.Thread(target=sleeper.execute, args=("SELECT pg_sleep(5)",))
        thread.start()
        assert until(lambda: row(shop, "sessions")["statement_s"] > 0)
        thread.join()


def test_double_indexes_and_foreign_keys_without_one_are_counted(shop: ScratchPostgres) -> None:
    for _ in range(3):
        shop.sql("SELECT count(*) FROM bill WHERE customer = 7")
    assert until(lambda: row(shop, "indexes")["foreign_keys"] == 1)
    found = row(shop, "indexes")
    assert (found["duplicates"], found["invalid"]) == (1, 0)
    assert found["duplicate_bytes"] > 0
    assert found["foreign_key_share"] > 0.3
    assert found["foreign_key_rows"] >= 3 * 30000
    shop.sql("CREATE INDEX ON bill (customer)")
    assert row(shop, "indexes")["foreign_keys"] == 0


def test_a_table_that_was_analyzed_a_moment_ago_is_not_stale(shop: ScratchPostgres) -> None:
    shop.sql("UPDATE bill SET state = 'paid'")
    assert until(lambda: row(shop, "tables")["off_dead_rows"] >= 30_000)
    found = row(shop, "housekeeping")
    assert (found["stale"], found["never_analyzed"]) == (0, 0)
    assert found["largest_rows"] >= 30_000


def test_a_sequence_is_counted_against_the_type_of_its_column(shop: ScratchPostgres) -> None:
    assert row(shop, "sequences")["used_share"] < 0.1
    shop.sql("SELECT setval('bill_id_seq', 2000000000)")
    assert 0.9 < row(shop, "sequences")["used_share"] < 1
    shop.sql("ALTER TABLE bill ALTER id TYPE bigint")
    shop.sql("ALTER SEQUENCE bill_id_seq AS bigint")
    assert row(shop, "sequences")["used_share"] < 0.1


def test_sequences_that_the_account_may_not_read_are_not_judged_until_they_are_granted(shop: ScratchPostgres) -> None:
    shop.sql("CREATE ROLE watcher")
    try:
        with psycopg.connect(shop.conninfo(), autocommit=True) as watching:
            watching.execute("SET ROLE watcher")

            def share_read() -> tuple[bool, float | None]:
                (may,) = watching.execute(f"SELECT {SEQUENCES.right}".encode()).fetchone() or (None,)
                (share, *_) = watching.execute(str(SEQUENCES.query(15)).encode()).fetchone() or (None, None)
                return may, share

            assert share_read() == (False, None)
            shop.sql(SEQUENCES.grant.format(account="watcher"))
            may, share = share_read()
            assert may
            assert share is not None
    finally:
        shop.sql("DROP OWNED BY watcher")
        shop.sql("DROP ROLE watcher")


def test_a_sequence_that_is_being_changed_holds_nobody_up(shop: ScratchPostgres) -> None:
    with shop.session() as changing:
        changing("BEGIN")
        changing("ALTER SEQUENCE bill_id_seq INCREMENT 2")
        assert row(shop, "sequences")["used_share"] == 0


def test_what_roles_and_databases_have_for_themselves_is_counted(shop: ScratchPostgres) -> None:
    shop.sql("CREATE ROLE analyst")
    try:
        for setting in (
            "enable_hashjoin = off",
            "random_page_cost = 500",
            "work_mem = '2GB'",
            "statement_timeout = '250ms'",
            "lock_timeout = '1s'",
            "log_min_duration_statement = 0",
        ):
            shop.sql(f"ALTER ROLE analyst SET {setting}")
        shop.sql("ALTER ROLE analyst IN DATABASE postgres SET work_mem = 64")
        found = row(shop, "role_settings")
        assert (found["kept"], found["switches_off"], found["odd"], found["logged"]) == (7, 1, 1, 1)
        assert (found["least_work_mem"], found["most_work_mem"]) == (65536, 2 << 30)
        assert (found["statement_ms"], found["lock_ms"], found["idle_ms"]) == (250, 1000, 0)
    finally:
        shop.sql("DROP ROLE analyst")


def test_who_idles_and_holds_others_up_is_counted(shop: ScratchPostgres) -> None:
    with shop.session() as holder:
        holder("BEGIN")
        holder("UPDATE bill SET state = 'held' WHERE id = 1")
        waiter = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        thread = threading.Thread(target=shop.sql, args=("UPDATE bill SET state = 'mine' WHERE id = 1",), daemon=True)
        thread.start()
        assert until(lambda: shop.sql(waiter) == "1")
        found = row(shop, "blocking")
        assert (found["waiting"], found["holders"], found["idle_holders"]) == (1, 1, 1)
        assert found["longest_wait_s"] > 0
        assert row(shop, "sessions")["waiting_row"] == 1
        holder("ROLLBACK")
        thread.join(60)
    assert row(shop, "blocking")["waiting"] == 0


def waiting(server: ScratchPostgres, number: int, statement: str) -> list[threading.Thread]:
    """So many sessions that execute the statement, all of them in a queue for a lock."""
    threads = [threading.Thread(target=server.sql, args=(statement,), daemon=True) for _ in range(number)]
    for thread in threads:
        thread.start()
    assert until(lambda: server.sql(UNGRANTED) == str(number))
    return threads


def test_an_advisory_lock_of_an_idle_session_is_told_from_locks_on_objects(shop: ScratchPostgres) -> None:
    with shop.session() as holder:
        holder("SELECT pg_advisory_lock(42)")
        threads = waiting(shop, 3, "SELECT pg_advisory_lock(42)")
        found = row(shop, "blocking")
        assert (found["advisory_holders"], found["behind_advisory"], found["idle_holders"]) == (1, 3, 0)
        assert found["behind_advisory_s"] > 0
        assert found["advisory_idle_s"] > 0
        assert (found["longest_object_wait_s"], found["crowded"]) == (0, 0)
        assert row(shop, "sessions")["waiting_advisory"] == 3
        holder("SELECT pg_advisory_unlock(42)")
        for thread in threads:
            thread.join(60)
    assert row(shop, "blocking")["advisory_holders"] == 0


def test_three_that_wait_for_one_transaction_are_a_crowd(shop: ScratchPostgres) -> None:
    """As those do that met a newer version of the row: they wait for its transaction, and queue for no row."""
    with shop.session() as holder:
        holder("BEGIN")
        holder("UPDATE bill SET state = 'held' WHERE id < 4")
        threads = []
        for number in (1, 2, 3):
            statement = f"UPDATE bill SET state = 'mine' WHERE id = {number}"
            threads.append(threading.Thread(target=shop.sql, args=(statement,), daemon=True))
            threads[-1].start()
            assert until(lambda number=number: shop.sql(UNGRANTED) == str(number))  # type: ignore[misc]
            assert row(shop, "blocking")["crowded"] == (number == 3)
        holder("ROLLBACK")
        for thread in threads:
            thread.join(60)


def test_those_behind_a_statement_that_wants_a_table_alone_are_counted(shop: ScratchPostgres) -> None:
    with shop.session() as reader:
        reader("BEGIN")
        reader("SELECT count(*) FROM customer")
        threads = [
            threading.Thread(target=shop.sql, args=(statement,), daemon=True)
            for statement in ("ALTER TABLE customer ADD COLUMN name text", "SELECT count(*) FROM customer")
        ]
        for number, thread in enumerate(threads, 1):
            thread.start()
            assert until(lambda number=number: shop.sql(UNGRANTED) == str(number))  # type: ignore[misc]
        found = row(shop, "blocking")
        assert (found["exclusive"], found["behind_exclusive"]) == (1, 1)
        reader("ROLLBACK")
        for thread in threads:
            thread.join(60)


def test_the_worst_of_what_is_counted_is_named(shop: ScratchPostgres) -> None:
    for _ in range(3):
        shop.sql("SELECT count(*) FROM bill WHERE customer = 7")
    assert until(lambda: told(shop, "indexes")["foreign_key_name"] == "bill")
    assert told(shop, "indexes")["duplicate_name"] == "bill_state = bill_state_again"
    shop.sql("ALTER TABLE bill ADD CONSTRAINT plausible CHECK (customer > 0) NOT VALID")
    assert told(shop, "integrity")["not_valid_name"] == "bill plausible"
    shop.sql("SELECT setval('bill_id_seq', 2000000000)")
    assert told(shop, "sequences")["fullest_name"] == "bill_id_seq"
    shop.sql("CREATE ROLE analyst")
    try:
        shop.sql("ALTER ROLE analyst IN DATABASE postgres SET enable_hashjoin = off")
        named = "role analyst in database postgres: enable_hashjoin = off"
        assert told(shop, "role_settings")["plan_names"] == named
    finally:
        shop.sql("DROP ROLE analyst")


def test_unlogged_tables_become_logged_in_the_order_of_their_foreign_keys(shop: ScratchPostgres) -> None:
    """As the finding's own statement prints them."""
    for table in ("bill", "customer"):
        shop.sql(f"ALTER TABLE {table} SET UNLOGGED")
    found = told(shop, "housekeeping")
    assert (found["unlogged"], found["unlogged_linked"], found["unlogged_linked_name"]) == (2, 2, "bill, customer")
    (statement,) = next(r for r in of_engine("postgresql") if r.name == "tables_unlogged").statements
    with psycopg.connect(shop.conninfo(), autocommit=True) as connection:
        printed = [line for (line,) in connection.execute(statement.encode())]
        assert printed == ["ALTER TABLE customer SET LOGGED;", "ALTER TABLE bill SET LOGGED;"]
        for line in printed:
            connection.execute(line.encode())
    assert row(shop, "housekeeping")["unlogged"] == 0


def test_updates_that_an_index_keeps_from_being_hot_are_counted_with_it(shop: ScratchPostgres) -> None:
    shop.sql("ALTER TABLE bill ADD COLUMN seen int, ADD COLUMN note int")
    shop.sql("CREATE INDEX bill_seen ON bill (seen)")
    shop.sql("DROP INDEX bill_state, bill_state_again")

    def updated(by: str) -> dict[str, Any]:
        before = told(shop, "updates")["updated"]
        shop.sql(f"UPDATE bill SET {by}")
        assert until(lambda: told(shop, "updates")["updated"] >= before + 30_000)
        return told(shop, "updates")

    found = updated("seen = 1")
    assert (found["name"], found["hot"], found["seldom"], found["seldom_name"]) == ("bill", 0, 1, "bill_seen")
    shop.sql("DROP INDEX bill_seen")
    shop.sql("ALTER TABLE bill SET (fillfactor = 40)")
    shop.sql("VACUUM FULL bill")
    again = updated("note = 1")
    assert again["hot"] > 0.9 * (again["updated"] - found["updated"])
    assert again["seldom"] == 0


def test_tables_that_are_made_and_dropped_change_the_catalogue(shop: ScratchPostgres) -> None:
    before = row(shop, "catalogs")["attributes"]
    with shop.session() as run:
        for _ in range(20):
            run("CREATE TEMPORARY TABLE basket (a int, b int)")
            run("DROP TABLE basket")
    assert until(lambda: row(shop, "catalogs")["attributes"] >= before + 20 * 2 * 8)
    assert row(shop, "catalogs")["bloated"] == 0
