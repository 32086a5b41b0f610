"""MySQL and MariaDB: housekeeping, plans, logging, concurrency."""

from __future__ import annotations

import time

from lutra_models.symptoms import Symptom

from benchmarks.faults.fault import Fault, Make, Scene

MYSQL = "mysql"
WAITED_S = 7.0
"""Longer than a wait for a lock has to last."""


def statement(*texts: str) -> Make:
    def make(scene: Scene) -> None:
        for text in texts:
            scene.sql(text)

    return make


def told(scene: Scene, finding: Symptom) -> None:
    """The finding's statements: those that name sessions say whom `KILL <id>` ends; which table is ours to know."""
    named: list[str] = []
    for text in finding.statements:
        text = text.rstrip(";").replace("<table>", "orders")
        text = text.replace("<session>", "<id>")
        if "<id>" not in text:
            found = scene.sql(text)
            rows = [line.split("|") for line in found.splitlines()]
            if ends := [row[-1] for row in rows if row[-1].startswith("KILL ")]:
                for end in dict.fromkeys(ends):
                    scene.sql(end)
                return
            named += [row[0] for row in rows]
            continue
        for session in dict.fromkeys(n for n in named if n.isdigit()):
            scene.sql(text.replace("<id>", session))
            time.sleep(1)
            return


def left_open(scene: Scene) -> None:
    """A client that begins, reads, and goes to lunch."""
    run = scene.session()
    run("BEGIN")
    run("SELECT count(*) FROM orders")
    time.sleep(35)


def row_held(scene: Scene) -> None:
    """A client that changes the hot counter, and never commits."""
    run = scene.session()
    run("BEGIN")
    run("UPDATE counters SET value = value + 1 WHERE name = 'orders'")
    time.sleep(WAITED_S)


def table_held(scene: Scene) -> None:
    """A change of a table behind a transaction that only read it."""
    run = scene.session()
    run("BEGIN")
    run("SELECT count(*) FROM customers")
    scene.in_background(lambda: scene.sql("ALTER TABLE customers ADD COLUMN more int"))
    time.sleep(WAITED_S)


def server_held(scene: Scene) -> None:
    """A backup that was interrupted after it had locked the server."""
    run = scene.session()
    run("FLUSH TABLES WITH READ LOCK")
    time.sleep(WAITED_S)


def unlocked(scene: Scene, finding: Symptom) -> None:
    """The list of sessions shows one that is asleep and holds the lock: the one that has slept longest."""
    assert any("KILL" in s for s in finding.statements)
    rows = [line.split("|") for line in scene.sql(finding.statements[0].rstrip(";")).splitlines()]
    asleep = [row for row in rows if row[3] == "Sleep" and row[0].isdigit()]
    scene.sql(f"KILL {max(asleep, key=lambda row: int(row[4]))[0]}")
    time.sleep(2)


def named_lock_held(scene: Scene) -> None:
    """Nightly jobs that share a lock by name, one of which hangs."""
    scene.session()("SELECT GET_LOCK('nightly', 1)")
    scene.in_background(lambda: scene.sql("SELECT GET_LOCK('nightly', 600)"))
    time.sleep(WAITED_S)


def deadlocking(scene: Scene) -> None:
    """Two jobs that lock the same rows in different orders."""

    def job(first: str, second: str) -> None:
        run = scene.session()
        for _ in range(200):
            try:
                run("BEGIN")
                run(f"UPDATE orders SET total = 1 WHERE id = {first}")
                time.sleep(0.15)
                run(f"UPDATE orders SET total = 1 WHERE id = {second}")
                run("COMMIT")
            except Exception:
                run("ROLLBACK")

    scene.in_background(lambda: job("1", "2"))
    scene.in_background(lambda: job("2", "1"))


def storming(scene: Scene) -> None:
    """Clients that connect anew for each query."""

    def client() -> None:
        for _ in range(3000):
            with scene.server.session() as run:
                run("SELECT 1")
            time.sleep(0.02)

    for _ in range(4):
        scene.in_background(client)


def joining(scene: Scene) -> None:
    """A join whose column has no index."""
    scene.sql("DROP INDEX orders_customer ON orders")
    run = scene.session()

    def reports() -> None:
        for _ in range(300):
            run(
                "SELECT STRAIGHT_JOIN count(*) FROM customers c JOIN orders o ON o.customer_id = c.id"
                " WHERE c.region = 7"
            )

    scene.in_background(reports)


def indexed(scene: Scene, finding: Symptom) -> None:
    assert "index" in finding.sentence
    scene.sql("CREATE INDEX orders_customer ON orders (customer_id)")


def without_key(scene: Scene) -> None:
    scene.sql("CREATE TABLE visits (customer_id int, at timestamp)")
    scene.sql("INSERT INTO visits VALUES (1, now())")


def asleep(scene: Scene) -> None:
    """A pool that keeps all that it ever opened."""
    for _ in range(68):
        scene.session()
    time.sleep(65)


def instrumented(scene: Scene) -> None:
    scene.sql("UPDATE performance_schema.setup_consumers SET ENABLED = 'YES'")
    scene.sql("UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES'")


def everything_off(scene: Scene) -> None:
    scene.sql("SET GLOBAL optimizer_switch = 'index_condition_pushdown=off,materialization=off,semijoin=off'")


FAULTS: tuple[Fault, ...] = (
    Fault(
        "innodb_stats_auto_recalc off",
        "housekeeping",
        frozenset({"statistics_not_renewed"}),
        {"innodb_stats_auto_recalc": "OFF"},
        treat=told,
        seconds=6,
    ),
    Fault(
        "innodb_stats_persistent off",
        "housekeeping",
        frozenset({"statistics_not_kept"}),
        make=statement("SET GLOBAL innodb_stats_persistent = OFF"),
        treat=told,
        seconds=6,
        server=MYSQL,
    ),
    Fault(
        "one page sampled for statistics",
        "housekeeping",
        frozenset({"statistics_sampled_thinly"}),
        make=statement("SET GLOBAL innodb_stats_persistent_sample_pages = 1"),
        seconds=6,
    ),
    Fault(
        "purge lag bounded at 1",
        "housekeeping",
        frozenset({"purge_lag_bounded"}),
        make=statement("SET GLOBAL innodb_max_purge_lag = 1"),
        seconds=6,
        server=MYSQL,
    ),
    Fault(
        "a transaction left open",
        "housekeeping",
        frozenset({"transactions_left_open", "purge_held_back"}),
        make=left_open,
        treat=told,
        seconds=6,
    ),
    Fault(
        "tables without a primary key",
        "housekeeping",
        frozenset({"tables_without_key"}),
        make=without_key,
        treatable=False,
        seconds=6,
    ),
    Fault(
        "tmp_table_size 1G, max_heap_table_size 16K",
        "housekeeping",
        frozenset({"temporary_room_tiny", "temporary_tables_on_disk"}),
        {"tmp_table_size": "1G", "max_heap_table_size": "16K"},
        seconds=20,
    ),
    Fault("planner methods off", "planner", frozenset({"planner_switches_off"}), make=everything_off, seconds=6),
    Fault(
        "planner methods off on MySQL",
        "planner",
        frozenset({"planner_switches_off"}),
        make=everything_off,
        seconds=6,
        server=MYSQL,
    ),
    Fault(
        "optimizer_search_depth 1",
        "planner",
        frozenset({"join_orders_not_searched"}),
        make=statement("SET GLOBAL optimizer_search_depth = 1"),
        seconds=6,
    ),
    Fault(
        "optimizer_prune_level 0",
        "planner",
        frozenset({"join_orders_all_searched"}),
        make=statement("SET GLOBAL optimizer_prune_level = 0"),
        seconds=6,
    ),
    Fault(
        "eq_range_index_dive_limit 1",
        "planner",
        frozenset({"lists_not_estimated"}),
        make=statement("SET GLOBAL eq_range_index_dive_limit = 1"),
        seconds=6,
        server=MYSQL,
    ),
    Fault(
        "max_seeks_for_key 1",
        "planner",
        frozenset({"seeks_believed_cheap"}),
        make=statement("SET GLOBAL max_seeks_for_key = 1"),
        seconds=6,
    ),
    Fault(
        "a join without an index",
        "planner",
        frozenset({"joins_read_tables", "tables_read_whole", "joins_without_index"}),
        make=joining,
        treat=indexed,
        seconds=30,
    ),
    Fault(
        "max_statement_time 50 ms",
        "planner",
        frozenset({"statements_cut_short"}),
        make=statement("SET GLOBAL max_statement_time = 0.05"),
        seconds=6,
    ),
    Fault(
        "sql_select_limit 5",
        "planner",
        frozenset({"results_cut"}),
        make=statement("SET GLOBAL sql_select_limit = 5"),
        seconds=6,
    ),
    Fault(
        "max_join_size 100",
        "planner",
        frozenset({"large_joins_refused"}),
        make=statement("SET GLOBAL max_join_size = 100"),
        seconds=6,
        server=MYSQL,
    ),
    Fault(
        "table_open_cache 10",
        "planner",
        frozenset({"table_cache_small", "table_cache_tiny"}),
        {"table_open_cache": "10"},
        seconds=30,
    ),
    Fault("general log on", "logging", frozenset({"every_statement_logged"}), {"general_log": "ON"}, seconds=6),
    Fault(
        "long_query_time 0 into a table",
        "logging",
        frozenset({"every_statement_logged"}),
        make=statement(
            "SET GLOBAL log_output = 'TABLE'", "SET GLOBAL slow_query_log = ON", "SET GLOBAL long_query_time = 0"
        ),
        seconds=6,
        server=MYSQL,
    ),
    Fault(
        "every instrument and consumer on",
        "logging",
        frozenset({"everything_instrumented"}),
        make=instrumented,
        seconds=6,
        server=MYSQL,
    ),
    Fault(
        "monitors left on",
        "logging",
        frozenset({"locks_dumped_to_the_log"}),
        make=statement("SET GLOBAL innodb_status_output = ON", "SET GLOBAL innodb_status_output_locks = ON"),
        seconds=6,
    ),
    Fault(
        "a row held by an idle client",
        "concurrency",
        frozenset({"rows_locked_by_the_idle"}),
        make=row_held,
        treat=told,
        seconds=6,
    ),
    Fault(
        "a row held by an idle client on MySQL",
        "concurrency",
        frozenset({"rows_locked_by_the_idle"}),
        make=row_held,
        treat=told,
        seconds=6,
        server=MYSQL,
    ),
    Fault(
        "ALTER TABLE behind an idle client",
        "concurrency",
        frozenset({"tables_locked", "change_waits_for_table"}),
        make=table_held,
        treat=told,
        seconds=6,
    ),
    Fault(
        "ALTER TABLE behind an idle client on MySQL",
        "concurrency",
        frozenset({"tables_locked", "change_waits_for_table"}),
        make=table_held,
        treat=told,
        seconds=6,
        server=MYSQL,
    ),
    Fault(
        "FLUSH TABLES WITH READ LOCK forgotten",
        "concurrency",
        frozenset({"server_locked"}),
        make=server_held,
        treat=unlocked,
        seconds=6,
    ),
    Fault(
        "a lock by name held",
        "concurrency",
        frozenset({"locks_by_name_waited_for"}),
        make=named_lock_held,
        treatable=False,
        seconds=6,
    ),
    Fault("deadlocks", "concurrency", frozenset({"deadlocks"}), make=deadlocking, treatable=False, seconds=20),
    Fault(
        "deadlock detection off",
        "concurrency",
        frozenset({"deadlocks_not_detected"}),
        make=statement("SET GLOBAL innodb_deadlock_detect = OFF"),
        seconds=6,
    ),
    Fault(
        "innodb_lock_wait_timeout 1",
        "concurrency",
        frozenset({"lock_waits_cut"}),
        make=statement("SET GLOBAL innodb_lock_wait_timeout = 1"),
        seconds=6,
    ),
    Fault(
        "innodb_lock_wait_timeout 10000",
        "concurrency",
        frozenset({"lock_waits_endless"}),
        make=statement("SET GLOBAL innodb_lock_wait_timeout = 10000"),
        seconds=6,
        server=MYSQL,
    ),
    Fault(
        "SERIALIZABLE for all",
        "concurrency",
        frozenset({"transactions_serialized"}),
        {"transaction_isolation": "SERIALIZABLE"},
        seconds=6,
    ),
    Fault(
        "autocommit off for all",
        "concurrency",
        frozenset({"nothing_commits_by_itself"}),
        {"autocommit": "OFF"},
        seconds=6,
    ),
    Fault(
        "a connection for each query",
        "concurrency",
        frozenset({"connections_short_lived"}),
        make=storming,
        treatable=False,
        seconds=15,
    ),
    Fault("wait_timeout of 5 s", "concurrency", frozenset({"idle_clients_cut"}), {"wait_timeout": "5"}, seconds=6),
    Fault(
        "most connections asleep",
        "concurrency",
        frozenset({"connections_asleep"}),
        {"max_connections": "90"},
        make=asleep,
        treatable=False,
        seconds=6,
    ),
    Fault(
        "innodb_thread_concurrency 1",
        "concurrency",
        frozenset({"few_threads_enter", "threads_held_back"}),
        make=statement("SET GLOBAL innodb_thread_concurrency = 1"),
        seconds=6,
        server=MYSQL,
    ),
    Fault(
        "a pool of one thread group that stalls",
        "concurrency",
        frozenset({"thread_pool_stalls", "thread_pool_narrow"}),
        {"thread_handling": "pool-of-threads", "thread_pool_size": "2", "thread_pool_stall_limit": "20000"},
        seconds=6,
    ),
    Fault(
        "scans flush the pool",
        "concurrency",
        frozenset({"scans_flush_the_pool"}),
        make=statement("SET GLOBAL innodb_old_blocks_time = 0"),
        seconds=6,
    ),
    Fault(
        "innodb_autoinc_lock_mode 0",
        "concurrency",
        frozenset({"inserts_lock_tables"}),
        {"innodb_autoinc_lock_mode": "0"},
        treatable=False,
        seconds=6,
    ),
)
