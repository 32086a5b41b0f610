"""PostgreSQL: housekeeping, plans, logging, concurrency."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from lutra_lab.servers.base import Session
from lutra_models.symptoms import Symptom

from benchmarks.faults.fault import Fault, Scene

HOT = "UPDATE counters SET value = value + 1 WHERE name = 'visits'"
CHANGED = "UPDATE orders SET note = note || '.' WHERE id < 40000"


def _set(*statements: str) -> Callable[[Scene], None]:
    """Each executed, and the server's files read anew."""

    def make(scene: Scene) -> None:
        for statement in (*statements, "SELECT pg_reload_conf()"):
            scene.sql(statement)

    return make


def _clients(count: int, work: Callable[[Session], object]) -> Callable[[Scene], None]:
    """So many sessions that do this again and again until the server ends."""

    def make(scene: Scene) -> None:
        def again() -> None:
            session = scene.session()
            while True:
                work(session)

        for _ in range(count):
            scene.in_background(again)

    return make


def _advisory(scene: Scene) -> None:
    """Three workers behind a session that idles, and has no transaction."""
    scene.session()("SELECT pg_advisory_lock(42)")
    _clients(3, lambda run: run("SELECT pg_advisory_lock(42), pg_advisory_unlock(42)"))(scene)
    time.sleep(6)


def _indexed(scene: Scene) -> None:
    """An index that nobody reads, and updates of its column."""
    scene.sql("CREATE TABLE visited AS SELECT n AS id, now() AS seen FROM generate_series(1, 20000) n")
    scene.sql("ALTER TABLE visited ADD PRIMARY KEY (id)")
    scene.sql("CREATE INDEX ON visited (seen)")
    visit = "UPDATE visited SET seen = clock_timestamp() WHERE id = 1 + floor(20000 * random())::int"
    _clients(2, lambda run: (run(visit), run("SELECT pg_sleep(0.005)")))(scene)


def _every_table(scene: Scene) -> None:
    """Nine in ten of the locks for which the server has room, in one transaction."""
    for first in range(0, 1100, 50):
        tables = " ".join(f"CREATE TABLE part_{n} (id int);" for n in range(first, first + 50))
        scene.sql(tables)
    run = scene.session()
    run("BEGIN")
    for n in range(1100):
        run(f"LOCK TABLE part_{n} IN SHARE UPDATE EXCLUSIVE MODE")


def _storm(scene: Scene) -> None:
    """Twelve clients that connect for each statement."""

    def again() -> None:
        while True:
            with scene.server.session() as run:
                run("SELECT total FROM orders WHERE id = 1")
            time.sleep(0.2)

    for _ in range(12):
        scene.in_background(again)


def _printed(scene: Scene, finding: Symptom) -> None:
    """What the finding's first statement prints is executed, each on its own."""
    for statement in scene.sql(finding.statements[0].rstrip(";")).splitlines():
        scene.sql(statement.partition(";")[0])
    scene.sql("SELECT pg_reload_conf()")


def _reset_and_vacuumed(scene: Scene, finding: Symptom) -> None:
    _printed(scene, finding)
    scene.sql("VACUUM orders")


def _changed_after_a_while(scene: Scene) -> None:
    """What changed right after an analysis counts only when that is a minute and a half ago."""
    time.sleep(92)
    scene.sql("UPDATE orders SET state = 'sent', total = total + 1")


def _filled(finding: str, *statements: str) -> Callable[[Scene, Symptom], None]:
    """The finding's last statement with its places filled in by somebody who knows the schema."""

    def treat(scene: Scene, found: Symptom) -> None:
        assert finding in " ".join(found.statements)
        for statement in statements:
            scene.sql(statement)

    return treat


def _open(*statements: str, wait_s: float = 0) -> Callable[[Scene], None]:
    """A session that begins a transaction and forgets it."""

    def make(scene: Scene) -> None:
        session = scene.session()
        for statement in ("BEGIN", *statements):
            session(statement)
        time.sleep(wait_s)

    return make


def _ddl(scene: Scene) -> None:
    """A read that is not over, an ALTER TABLE that waits for it, and everybody else behind that."""
    reader = scene.session()
    reader("BEGIN")
    reader("SELECT count(*) FROM customers")
    scene.in_background(lambda: scene.session()("ALTER TABLE customers ADD COLUMN email text"))
    time.sleep(5)


def _deadlocks(scene: Scene) -> None:
    def pair(first: int, second: int) -> Callable[[Session], object]:
        def work(run: Session) -> None:
            run("BEGIN")
            run(f"UPDATE customers SET name = name WHERE id = {first}")
            run("SELECT pg_sleep(0.2)")
            run(f"UPDATE customers SET name = name WHERE id = {second}")
            run("COMMIT")

        return work

    ended = threading.Event()
    scene.ends.callback(ended.set)

    def again(work: Callable[[Session], object]) -> None:
        while not ended.is_set():
            try:
                with scene.server.session() as run:
                    while not ended.is_set():
                        work(run)
            except Exception:  # the one that the server ended begins anew
                time.sleep(0.1)

    scene.in_background(lambda: again(pair(1, 2)))
    scene.in_background(lambda: again(pair(2, 1)))


def _savepoints(scene: Scene) -> None:
    """One long transaction with a thousand savepoints, and readers of what it changes."""
    writer = scene.session()
    writer("BEGIN")
    for n in range(1000):
        writer(f"SAVEPOINT s{n}")
        writer(f"UPDATE customers SET region = region WHERE id = {n}")
    scene.sql("SELECT txid_current()")
    _clients(3, lambda run: run("SELECT count(*) FROM customers"))(scene)


def _bloat(scene: Scene) -> None:
    scene.sql("ALTER TABLE orders SET (autovacuum_enabled = off)")
    for n in range(6):
        scene.sql(f"UPDATE orders SET note = note || '{n}'")
    scene.sql("ALTER TABLE orders RESET (autovacuum_enabled)")
    scene.sql("VACUUM ANALYZE orders")


def _invalid(scene: Scene) -> None:
    scene.sql("UPDATE customers SET region = 7 WHERE id < 2")
    with scene.server.session() as run:
        try:
            run("CREATE UNIQUE INDEX CONCURRENTLY customers_region ON customers (region)")
        except Exception:  # two rows are alike: the index stays, invalid
            return


def _sequence(scene: Scene) -> None:
    scene.sql("CREATE TABLE invoices (id serial PRIMARY KEY, total int)")
    scene.sql("ALTER SEQUENCE invoices_id_seq RESTART WITH 2100000000")
    scene.sql("INSERT INTO invoices (total) SELECT 1 FROM generate_series(1, 1000)")


def _unused(scene: Scene) -> None:
    for n, columns in enumerate(("state", "total", "note", "state, total", "total, note", "note, state")):
        scene.sql(f"CREATE INDEX orders_{n} ON orders ({columns})")
    scene.sql("UPDATE orders SET total = total + 1 WHERE id < 12000")


def _failing_sort(run: Session) -> None:
    try:
        run("SELECT count(*) FROM (SELECT o.* FROM orders o, generate_series(1, 5) ORDER BY note, id) x")
    except Exception:  # the limit
        run("SELECT pg_sleep(0.5)")


def _role(setting: str) -> str:
    return f"ALTER DATABASE postgres SET {setting}"


OPEN = frozenset({"transactions_left_open", "blocked_by_idle_session"})
BIG = (
    "CREATE TABLE visits AS SELECT n AS id, n % 1000 AS page, md5(n::text) AS who FROM generate_series(1, 1500000) n",
    "ANALYZE visits",
)


def _scans(run: Session) -> None:
    run("SELECT page, count(*) FROM visits GROUP BY page ORDER BY 2")
    run("SELECT pg_sleep(2)")


def _parallel_off(scene: Scene) -> None:
    for statement in BIG:
        scene.sql(statement)
    _set("ALTER SYSTEM SET max_parallel_workers_per_gather = 0")(scene)
    _clients(1, _scans)(scene)


def _without_index(table: str, column: str) -> Callable[[Session], object]:
    def work(run: Session) -> None:
        run(f"SELECT count(*) FROM {table} WHERE {column} = 'nobody'")
        run("SELECT pg_sleep(0.2)")

    return work


def _indexed_but_scanned(scene: Scene) -> None:
    """Queries by a column that no index has, on a table whose other indexes serve the shop."""
    _clients(3, _without_index("orders", "note"))(scene)


def _foreign_key(scene: Scene) -> None:
    for statement in (
        "ALTER TABLE orders ADD CONSTRAINT of_customer FOREIGN KEY (customer_id) REFERENCES customers",
        "CREATE INDEX orders_state ON orders (state)",
        "DROP INDEX orders_customer",
    ):
        scene.sql(statement)


HOUSEKEEPING = (
    Fault(
        "autovacuum off on two tables",
        "housekeeping",
        frozenset({"autovacuum_off_for_tables"}),
        make=_set(
            "ALTER TABLE orders SET (autovacuum_enabled = off)",
            "ALTER TABLE counters SET (autovacuum_enabled = false)",
            CHANGED,
        ),
    ),
    Fault(
        "a table whose own thresholds never come",
        "housekeeping",
        frozenset({"autovacuum_late_for_tables"}),
        make=_set("ALTER TABLE orders SET (autovacuum_vacuum_scale_factor = 50)", CHANGED),
        treat=_reset_and_vacuumed,
    ),
    Fault(
        "autovacuum's thresholds absurd",
        "housekeeping",
        frozenset({"autovacuum_never_due", "autovacuum_late"}),
        {"autovacuum_vacuum_scale_factor": "0.99", "autovacuum_vacuum_threshold": "10000000"},
    ),
    Fault(
        "autoanalyze never due",
        "housekeeping",
        frozenset({"autoanalyze_never_due"}),
        {"autovacuum_analyze_scale_factor": "5", "autovacuum_analyze_threshold": "1000000"},
    ),
    Fault(
        "autovacuum looks once a day",
        "housekeeping",
        frozenset({"autovacuum_seldom_looks", "autovacuum_naps"}),
        {"autovacuum_naptime": "1d"},
    ),
    Fault(
        "autovacuum throttled to a crawl",
        "housekeeping",
        frozenset({"autovacuum_crawls", "autovacuum_throttled"}),
        {"autovacuum_vacuum_cost_limit": "10", "autovacuum_vacuum_cost_delay": "100ms"},
    ),
    Fault(
        "a table filled and never analyzed",
        "housekeeping",
        frozenset({"statistics_missing"}),
        {"autovacuum_naptime": "10min"},
        make=_set("CREATE TABLE imported AS SELECT n AS id, n % 7 AS kind FROM generate_series(1, 200000) n"),
    ),
    Fault(
        "statistics from before the load of half the table",
        "housekeeping",
        frozenset({"statistics_stale"}),
        {"autovacuum_naptime": "10min"},
        make=_changed_after_a_while,
    ),
    Fault(
        "a table that is mostly empty",
        "housekeeping",
        frozenset({"tables_bloated"}),
        make=_bloat,
        treat=_filled("VACUUM (FULL", "VACUUM (FULL, ANALYZE) orders"),
    ),
    Fault(
        "an index left invalid",
        "housekeeping",
        frozenset({"indexes_invalid"}),
        make=_invalid,
        treat=_filled("REINDEX", "DROP INDEX customers_region"),
    ),
    Fault(
        "the same index three times",
        "housekeeping",
        frozenset({"indexes_double"}),
        make=_set(
            "CREATE INDEX orders_customer_again ON orders (customer_id)",
            "CREATE INDEX orders_by_customer ON orders (customer_id)",
        ),
        treat=_filled("DROP INDEX", "DROP INDEX orders_customer_again", "DROP INDEX orders_by_customer"),
    ),
    Fault(
        "six indexes that no query uses",
        "housekeeping",
        frozenset({"indexes_unused"}),
        make=_unused,
        treat=_filled("DROP INDEX", *(f"DROP INDEX orders_{n}" for n in range(6))),
    ),
    Fault(
        "a sequence near the end of its type",
        "housekeeping",
        frozenset({"sequence_near_end"}),
        make=_sequence,
        treat=_filled(
            "TYPE bigint", "ALTER TABLE invoices ALTER id TYPE bigint", "ALTER SEQUENCE invoices_id_seq AS bigint"
        ),
    ),
    Fault(
        "a sequence at its end",
        "housekeeping",
        frozenset({"sequence_used_up"}),
        make=_set("CREATE TABLE ticket (id smallserial PRIMARY KEY)", "SELECT setval('ticket_id_seq', 32767)"),
        treat=_filled(
            "TYPE bigint", "ALTER TABLE ticket ALTER id TYPE bigint", "ALTER SEQUENCE ticket_id_seq AS bigint"
        ),
    ),
    Fault(
        "foreign keys left off after a load",
        "housekeeping",
        frozenset({"constraints_not_checked"}),
        make=_set(
            "ALTER TABLE orders ADD FOREIGN KEY (customer_id) REFERENCES customers NOT VALID",
            "ALTER TABLE orders DISABLE TRIGGER ALL",
        ),
    ),
    Fault(
        "a published table without a key",
        "housekeeping",
        frozenset({"published_without_identity"}),
        {"wal_level": "logical"},
        make=_set("CREATE TABLE event (n int)", "CREATE PUBLICATION events FOR TABLE event"),
    ),
    Fault(
        "temp_file_limit hit",
        "housekeeping",
        frozenset({"temporary_files_limited"}),
        {"temp_file_limit": "4MB"},
        make=_clients(2, _failing_sort),
    ),
    Fault(
        "unlogged orders",
        "housekeeping",
        frozenset({"tables_unlogged"}),
        make=_set("ALTER TABLE orders SET UNLOGGED"),
        treat=_printed,
    ),
)
PLANNING = (
    Fault(
        "default_statistics_target 1",
        "planner",
        frozenset({"statistics_coarse"}),
        {"default_statistics_target": "1"},
    ),
    Fault(
        "default_statistics_target 10000",
        "planner",
        frozenset({"statistics_excessive"}),
        {"default_statistics_target": "10000"},
    ),
    Fault("random_page_cost 1000", "planner", frozenset({"random_reads_overpriced"}), {"random_page_cost": "1000"}),
    Fault(
        "seq_page_cost above random_page_cost",
        "planner",
        frozenset({"sequential_reads_overpriced"}),
        {"seq_page_cost": "40"},
    ),
    Fault("cpu_tuple_cost 10", "planner", frozenset({"cpu_costs_odd"}), {"cpu_tuple_cost": "10"}),
    Fault("enable_indexscan off", "planner", frozenset({"planner_switches_off"}), {"enable_indexscan": "off"}),
    Fault(
        "a database that may not use hash joins",
        "planner",
        frozenset({"roles_plan_oddly"}),
        make=_set(_role("enable_hashjoin = off"), _role("random_page_cost = 500")),
        treat=_printed,
    ),
    Fault(
        "a role with 8 GB of work_mem",
        "planner",
        frozenset({"roles_sort_oddly", "memory_beyond_host"}),
        make=_set("CREATE ROLE analyst", "ALTER ROLE analyst SET work_mem = '8GB'"),
        treat=_printed,
    ),
    Fault("work_mem 64 kB", "planner", frozenset({"work_mem_tiny"}), {"work_mem": "64kB"}),
    Fault(
        "maintenance_work_mem 1 MB",
        "planner",
        frozenset({"maintenance_work_mem_tiny"}),
        {"maintenance_work_mem": "1MB"},
    ),
    Fault("all jit costs 0", "planner", frozenset({"jit_for_every_query", "jit_costs"}), {"jit_above_cost": "0"}),
    Fault(
        "joins in the order of the query",
        "planner",
        frozenset({"joins_not_reordered"}),
        {"join_collapse_limit": "1", "from_collapse_limit": "1"},
    ),
    Fault(
        "joins searched without end",
        "planner",
        frozenset({"join_search_unbounded"}),
        {"join_collapse_limit": "40", "from_collapse_limit": "40", "geqo": "off"},
    ),
    Fault("generic plans forced", "planner", frozenset({"plans_forced"}), {"plan_cache_mode": "force_generic_plan"}),
    Fault(
        "parallel workers forced",
        "planner",
        frozenset({"parallel_plans_forced"}),
        {"debug_parallel_query": "on"},
        server="postgres18",
    ),
    Fault(
        "parallel plans for everything",
        "planner",
        frozenset({"parallelism_unbounded"}),
        {"parallel_setup_cost": "0", "parallel_tuple_cost": "0", "min_parallel_table_scan_size": "0"},
    ),
    Fault("parallelism off", "planner", frozenset({"parallelism_off"}), make=_parallel_off, seconds=30),
    Fault(
        "no index on a foreign key",
        "planner",
        frozenset({"foreign_key_without_index", "tables_read_whole"}),
        make=_foreign_key,
        seconds=30,
        treat=lambda scene, _found: (
            scene.sql("CREATE INDEX ON orders (customer_id)"),
            scene.sql("SELECT pg_stat_reset()"),
        ),
    ),
    Fault(
        "a condition without an index",
        "planner",
        frozenset({"scans_without_index", "tables_read_whole"}),
        make=_indexed_but_scanned,
        seconds=30,
        treat=lambda scene, _found: (
            scene.sql("CREATE INDEX ON orders (note)"),
            scene.sql("SELECT pg_stat_reset()"),
        ),
    ),
    Fault(
        "effective_cache_size 8 MB", "planner", frozenset({"cache_unknown_to_planner"}), {"effective_cache_size": "8MB"}
    ),
)
LOGGING = (
    Fault("log_statement all", "logging", frozenset({"every_statement_logged"}), {"log_statement": "all"}),
    Fault(
        "every duration logged", "logging", frozenset({"every_statement_logged"}), {"log_min_duration_statement": "0"}
    ),
    Fault(
        "messages for developers",
        "logging",
        frozenset({"log_verbose"}),
        {"log_min_messages": "debug3", "log_statement_stats": "on"},
    ),
    Fault("no errors in the log", "logging", frozenset({"errors_not_logged"}), {"log_min_messages": "panic"}),
    Fault(
        "nothing logged that one will need",
        "logging",
        frozenset({"log_blind"}),
        {"log_checkpoints": "off", "log_autovacuum_min_duration": "-1"},
    ),
    Fault(
        "auto_explain measures everything",
        "logging",
        frozenset({"plans_logged"}),
        {
            "session_preload_libraries": "auto_explain",
            "auto_explain.log_min_duration": "0",
            "auto_explain.log_analyze": "on",
        },
    ),
    Fault("track_activities off", "logging", frozenset({"sessions_hidden"}), {"track_activities": "off"}),
    Fault("track_counts off", "logging", frozenset({"rows_not_counted"}), {"track_counts": "off"}),
    Fault(
        "a database that logs each statement",
        "logging",
        frozenset({"roles_log_everything"}),
        make=_set(_role("log_min_duration_statement = 0")),
        treat=_printed,
    ),
    Fault(
        "a log that is never rotated",
        "logging",
        frozenset({"log_never_rotated"}),
        {"logging_collector": "on", "log_rotation_age": "0", "log_rotation_size": "0"},
    ),
)
CONCURRENCY = (
    Fault(
        "a transaction left open for a minute",
        "concurrency",
        OPEN,
        make=_open("SELECT count(*) FROM orders", wait_s=62),
    ),
    Fault(
        "a forgotten transaction that holds a hot row",
        "concurrency",
        OPEN,
        make=_open("UPDATE counters SET value = value + 1", wait_s=5),
    ),
    Fault(
        "an ALTER TABLE that waits, and all behind it",
        "concurrency",
        frozenset({"queue_behind_exclusive_lock", "blocked_by_idle_session"}),
        make=_ddl,
    ),
    Fault(
        "a pooled session that keeps an advisory lock",
        "concurrency",
        frozenset({"blocked_by_idle_advisory_lock"}),
        make=_advisory,
    ),
    Fault(
        "tables that are made and dropped by each request",
        "housekeeping",
        frozenset({"catalog_churn"}),
        make=_clients(2, lambda run: run("CREATE TEMPORARY TABLE basket (a int, b int, c text); DROP TABLE basket")),
        treatable=False,
    ),
    Fault(
        "an index on a column that every update changes",
        "housekeeping",
        frozenset({"updates_not_hot"}),
        make=_indexed,
    ),
    Fault(
        "sixteen clients on one counter",
        "concurrency",
        frozenset({"one_row_contended", "row_locks"}),
        make=_clients(16, lambda run: (run("BEGIN"), run(HOT), run("SELECT pg_sleep(0.02)"), run("COMMIT"))),
        treatable=False,
    ),
    Fault(
        "forty sessions that compute",
        "concurrency",
        frozenset({"sessions_crowd"}),
        make=_clients(
            40, lambda run: run("SELECT count(*) FROM orders a, orders b WHERE b.id < 20 AND a.id % 7 = b.id")
        ),
        treatable=False,
    ),
    Fault(
        "a transaction over thousands of tables",
        "concurrency",
        frozenset({"lock_table_full"}),
        {"max_locks_per_transaction": "10"},
        make=_every_table,
        treatable=False,
    ),
    Fault("deadlocks", "concurrency", frozenset({"deadlocks"}), make=_deadlocks, seconds=30, treatable=False),
    Fault(
        "a thousand savepoints",
        "concurrency",
        frozenset({"subtransactions_overflow"}),
        make=_savepoints,
        seconds=30,
        treatable=False,
    ),
    Fault(
        "a connection for each statement",
        "concurrency",
        frozenset({"connections_short_lived"}),
        make=_storm,
        treatable=False,
    ),
    Fault("deadlock_timeout 1 ms", "concurrency", frozenset({"deadlock_timeout_odd"}), {"deadlock_timeout": "1ms"}),
    Fault("commit_delay 100 ms", "concurrency", frozenset({"commits_delayed"}), {"commit_delay": "100000"}),
    Fault("statement_timeout 30 ms", "concurrency", frozenset({"statements_cut_short"}), {"statement_timeout": "30ms"}),
    Fault(
        "a database whose statements end after 20 ms",
        "concurrency",
        frozenset({"roles_cut_short"}),
        make=_set(_role("statement_timeout = '20ms'")),
        treat=_printed,
    ),
    Fault(
        "sessions ended after a second of idling",
        "concurrency",
        frozenset({"sessions_cut_short"}),
        {"idle_session_timeout": "1s"},
    ),
    Fault(
        "transactions ended after 100 ms",
        "concurrency",
        frozenset({"statements_cut_short"}),
        {"transaction_timeout": "100ms"},
        server="postgres18",
    ),
)
BRIEFLY_S = 8.0
"""A look at what the settings themselves tell."""
FAULTS = tuple(
    replace(fault, seconds=BRIEFLY_S) if fault.make is None else fault
    for fault in (*CONCURRENCY, *HOUSEKEEPING, *PLANNING, *LOGGING)
)
