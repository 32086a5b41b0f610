"""PostgreSQL: outages, capacity, safety, replication."""

from __future__ import annotations

import time

from benchmarks.faults.fault import Fault, Make, Scene
from benchmarks.faults.postgresql_hands import (
    access,
    age,
    cancelled_on_standby,
    connect,
    crash_of_a_process,
    damaged_page,
    disk_of_the_log,
    failing_subscription,
    idlers,
    paused_standby,
    primary,
    small_disk,
    standby_of_nobody,
    standby_that_hangs,
    standby_that_pauses,
    statements,
    system,
    tell_to_write,
    without_access,
)

END_IDLERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'idler'"
TWO_PHASE = {"max_prepared_transactions": "4"}
ARCHIVING = {"archive_mode": "on", "archive_command": "/bin/cp %p /dev/null"}
OPEN = "host all all 0.0.0.0/0 trust"
CLEAR = "host all all 10.0.0.0/8 password"
BROKEN = "hostt all all 10.0.0.0/8 scram-sha-256"


def fill_a_tablespace(scene: Scene) -> None:
    disk = scene.ends.enter_context(small_disk(scene, 64))
    place = disk / "space"
    place.mkdir()
    scene.server.account.own(place)
    with connect(scene, "postgres") as run:
        run.execute(f"CREATE TABLESPACE small LOCATION '{place}'".encode())
        run.execute(b"CREATE TABLE archive (pad text) TABLESPACE small")
        for _ in range(40):
            try:
                run.execute(b"INSERT INTO archive SELECT repeat(md5(g::text), 32) FROM generate_series(1, 2000) g")
            except Exception:  # it is full
                return


def nearly_full(scene: Scene) -> None:
    disk_of_the_log(400)(scene)
    filler = scene.server.directory.parent / "disk" / "filler"
    filler.write_bytes(b"\0" * (345 << 20))


def filling(scene: Scene) -> None:
    disk_of_the_log(1500)(scene)
    scene.sql("SELECT pg_create_physical_replication_slot('gone', true)")

    def write() -> None:
        for _ in range(25):
            tell_to_write(scene, 20)
            time.sleep(0.5)

    scene.in_background(write)


def forgotten_prepared(scene: Scene) -> None:
    with scene.server.session() as run:
        run("BEGIN")
        run("UPDATE orders SET state = 'lost' WHERE id = 7")
        run("PREPARE TRANSACTION 'forgotten'")


def all_prepared(scene: Scene) -> None:
    for number in range(4):
        with scene.server.session() as run:
            run("BEGIN")
            run(f"INSERT INTO customers VALUES ({-number - 1}, 'x', 1)")
            run(f"PREPARE TRANSACTION 'held {number}'")


def lost_slot(scene: Scene) -> None:
    scene.sql("SELECT pg_create_physical_replication_slot('gone', true)")
    for _ in range(8):
        tell_to_write(scene, 4)
        scene.sql("SELECT pg_switch_wal()")
    scene.sql("CHECKPOINT")


def slot_without_reader(kind: str) -> Make:
    arguments = "'gone', true" if kind == "physical" else "'gone', 'test_decoding'"
    create = f"SELECT pg_create_{kind}_replication_slot({arguments})"

    def make(scene: Scene) -> None:
        scene.sql(create)
        tell_to_write(scene, 3)

    return make


def broken_file(scene: Scene) -> None:
    with (scene.server.data_dir / "postgresql.conf").open("a") as file:
        file.write("work_mem = 16 MegaBytes\n")


def mended_file(scene: Scene, _: object) -> None:
    file = scene.server.data_dir / "postgresql.conf"
    file.write_text(file.read_text().replace("work_mem = 16 MegaBytes\n", ""))


def locked(scene: Scene) -> None:
    run = scene.session()
    run("BEGIN")
    run("LOCK TABLE orders, queue, customers, counters IN ACCESS EXCLUSIVE MODE")


def hanging_archive(scene: Scene) -> None:
    for _ in range(3):
        tell_to_write(scene, 1)
        scene.sql("SELECT pg_switch_wal()")
    time.sleep(45)


def failing_archive(scene: Scene) -> None:
    tell_to_write(scene, 1)
    scene.sql("SELECT pg_switch_wal()")
    time.sleep(10)


FAULTS = (
    # ------------------------------------------------------------------------------------------------ an outage now
    Fault(
        "a standby that does not exist",
        "outage",
        frozenset({"commits_wait_for_standby", "synchronous_standby_absent"}),
        make=system(synchronous_standby_names="dr1"),
    ),
    Fault(
        "every connection taken",
        "outage",
        frozenset({"connections_exhausted", "connections_near_limit"}),
        {"max_connections": "28"},
        idlers("app", 14),
        treat=statements(END_IDLERS),
    ),
    Fault(
        "an account at its connection limit",
        "outage",
        frozenset({"connection_limit_reached"}),
        make=lambda scene: (
            scene.sql("CREATE ROLE reports LOGIN CONNECTION LIMIT 3"),
            [connect(scene, "reports") for _ in range(3)],
        ),
        treat=statements("ALTER ROLE reports CONNECTION LIMIT -1"),
    ),
    Fault(
        "a database at its connection limit",
        "outage",
        frozenset({"connection_limit_reached"}),
        make=statements("ALTER DATABASE postgres CONNECTION LIMIT 4"),
        treat=statements("ALTER DATABASE postgres CONNECTION LIMIT -1"),
    ),
    Fault(
        "default_transaction_read_only on",
        "outage",
        frozenset({"writes_refused"}),
        make=system(default_transaction_read_only="on"),
    ),
    Fault(
        "a database read-only",
        "outage",
        frozenset({"writes_refused_in_a_database"}),
        make=statements("ALTER DATABASE postgres SET default_transaction_read_only = on"),
        treat=lambda scene, _: scene.sql("ALTER DATABASE postgres RESET default_transaction_read_only", "template1"),
    ),
    Fault("a primary started as a standby", "outage", frozenset({"recovery_without_source"}), make=standby_of_nobody),
    Fault("all sessions behind one lock", "outage", frozenset({"all_wait_for_locks"}), make=locked, treatable=False),
    Fault(
        "a tablespace's disk full", "outage", frozenset({"linked_disk_full"}), make=fill_a_tablespace, treatable=False
    ),
    Fault(
        "transaction ids used up",
        "outage",
        frozenset({"wraparound_stopped"}),
        make=age("-x 2145000000", {"pg_xact/07FD": 1 << 18}),
        treatable=False,
    ),
    # ------------------------------------------------------------------------------------------------------ capacity
    Fault(
        "transaction ids near their end",
        "capacity",
        frozenset({"wraparound_near"}),
        make=age("-x 1900020000", {"pg_xact/0714": 1 << 18}),
        treatable=False,
    ),
    Fault(
        "multixacts near their end",
        "capacity",
        frozenset({"multixact_wraparound_near"}),
        make=age("-m 1900000256,1", {"pg_multixact/offsets/713F": 1 << 18}),
        treatable=False,
    ),
    Fault("work_mem 4 GB", "capacity", frozenset({"memory_beyond_host"}), {"work_mem": "4GB"}),
    Fault(
        "5,000 connections with 64 MB each",
        "capacity",
        frozenset({"memory_beyond_host"}),
        {"max_connections": "5000", "work_mem": "64MB"},
    ),
    Fault(
        "temporary buffers beyond the host",
        "capacity",
        frozenset({"memory_beyond_host"}),
        {"temp_buffers": "16GB", "max_connections": "300"},
    ),
    Fault(
        "3,000 connections for ten clients",
        "capacity",
        frozenset({"connections_oversized", "memory_beyond_host"}),
        {"max_connections": "3000", "work_mem": "1MB"},
    ),
    Fault(
        "most connections reserved",
        "capacity",
        frozenset({"connection_places_reserved"}),
        {"max_connections": "100", "superuser_reserved_connections": "60"},
    ),
    Fault("max_wal_size beyond the disk", "capacity", frozenset({"log_beyond_disk"}), {"max_wal_size": "2TB"}),
    Fault("wal_keep_size beyond the disk", "capacity", frozenset({"log_beyond_disk"}), {"wal_keep_size": "2TB"}),
    Fault(
        "the log's disk nearly full",
        "capacity",
        frozenset({"data_disk_nearly_full", "data_disk_full", "linked_disk_nearly_full", "linked_disk_full"}),
        {"max_wal_size": "64MB", "min_wal_size": "32MB"},
        nearly_full,
        treat=lambda scene, _: (scene.server.directory.parent / "disk" / "filler").unlink(),
    ),
    Fault(
        "the log's disk fills",
        "capacity",
        frozenset({"data_disk_fills", "data_disk_full", "data_disk_nearly_full"}),
        {"max_wal_size": "128MB"},
        filling,
        seconds=40,
        treatable=False,
    ),
    Fault("64 open files a process", "capacity", frozenset({"few_open_files"}), {"max_files_per_process": "64"}),
    # -------------------------------------------------------------------------------------------------------- safety
    Fault("fsync off", "safety", frozenset({"writes_not_forced"}), {"fsync": "off"}),
    Fault("full_page_writes off", "safety", frozenset({"pages_may_tear"}), {"full_page_writes": "off"}),
    Fault(
        "a damaged page",
        "safety",
        frozenset({"checksums_failed"}),
        make=damaged_page,
        treat=statements("SELECT pg_stat_reset()"),
        server="postgres18",
    ),
    Fault("data_sync_retry on", "safety", frozenset({"failed_flushes_retried"}), {"data_sync_retry": "on"}),
    Fault(
        "foreign keys and triggers off",
        "safety",
        frozenset({"triggers_left_out"}),
        make=system(session_replication_role="replica"),
    ),
    Fault("zero_damaged_pages on", "safety", frozenset({"damage_is_ignored"}), make=system(zero_damaged_pages="on")),
    Fault("system tables open", "safety", frozenset({"system_tables_open"}), {"allow_system_table_mods": "on"}),
    Fault("a backend killed", "safety", frozenset({"server_crashed"}), make=crash_of_a_process, treatable=False),
    Fault(
        "archive_command fails",
        "safety",
        frozenset({"archiving_fails"}),
        {"archive_mode": "on", "archive_command": "false"},
        failing_archive,
        30,
        system(archive_command="/bin/cp %p /dev/null"),
    ),
    Fault(
        "archive_mode without a command",
        "safety",
        frozenset({"archiving_without_command"}),
        {"archive_mode": "on"},
        treat=system(archive_command="/bin/cp %p /dev/null"),
    ),
    Fault(
        "archive_command true",
        "safety",
        frozenset({"archive_keeps_nothing"}),
        {"archive_mode": "on", "archive_command": "/bin/true"},
        treat=system(archive_command="/bin/cp %p /dev/null"),
    ),
    Fault(
        "archive_command hangs",
        "safety",
        frozenset({"archiving_lags"}),
        {"archive_mode": "on", "archive_command": "sleep 3600"},
        hanging_archive,
        seconds=45,
        treatable=False,
    ),
    Fault(
        "archive_timeout 2 s",
        "safety",
        frozenset({"archive_timeout_short"}),
        {**ARCHIVING, "archive_timeout": "2"},
    ),
    Fault(
        "no backup possible",
        "safety",
        frozenset({"no_online_backup"}),
        {"wal_level": "minimal", "max_wal_senders": "0"},
    ),
    Fault(
        "collations of another library",
        "safety",
        frozenset({"collations_outdated"}),
        make=statements(
            "CREATE DATABASE words TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'",
            "UPDATE pg_database SET datcollversion = '1.0' WHERE datname = 'words'",
        ),
        treat=statements("ALTER DATABASE words REFRESH COLLATION VERSION"),
    ),
    Fault(
        "postgresql.conf with an error",
        "safety",
        frozenset({"settings_file_broken"}),
        make=broken_file,
        treat=mended_file,
    ),
    # -------------------------------------------------------------------------------------------------------- access
    Fault(
        "trust for the whole world",
        "access",
        frozenset({"open_to_network"}),
        make=access(OPEN),
        treat=without_access(OPEN),
    ),
    Fault(
        "passwords in clear text",
        "access",
        frozenset({"passwords_in_clear"}),
        make=access(CLEAR),
        treat=without_access(CLEAR),
    ),
    Fault(
        "pg_hba.conf with an error",
        "access",
        frozenset({"access_file_broken"}),
        make=access(BROKEN),
        treat=without_access(BROKEN),
    ),
    Fault("passwords by MD5", "access", frozenset({"passwords_md5"}), make=system(password_encryption="md5")),
    # --------------------------------------------------------------------------------------------------- replication
    Fault(
        "a slot that nobody reads",
        "replication",
        frozenset({"slot_unread", "slot_holds_log"}),
        make=slot_without_reader("physical"),
        treat=statements("SELECT pg_drop_replication_slot('gone')"),
    ),
    Fault(
        "a logical slot that nobody reads",
        "replication",
        frozenset({"slot_unread", "slot_holds_log"}),
        {"wal_level": "logical"},
        slot_without_reader("logical"),
        treat=statements("SELECT pg_drop_replication_slot('gone')"),
    ),
    Fault(
        "a slot that lost its log",
        "replication",
        frozenset({"slots_lost"}),
        {"max_slot_wal_keep_size": "32MB", "max_wal_size": "64MB", "min_wal_size": "32MB"},
        lost_slot,
        treat=statements("SELECT pg_drop_replication_slot('gone')"),
    ),
    Fault(
        "a forgotten prepared transaction",
        "replication",
        frozenset({"prepared_transaction_forgotten"}),
        TWO_PHASE,
        forgotten_prepared,
        60,
        statements("ROLLBACK PREPARED 'forgotten'"),
    ),
    Fault(
        "no place for a prepared transaction",
        "replication",
        frozenset({"prepared_transactions_used_up", "prepared_transaction_forgotten"}),
        TWO_PHASE,
        all_prepared,
        treat=statements(*(f"ROLLBACK PREPARED 'held {n}'" for n in range(4))),
    ),
    Fault("wal_sender_timeout 0", "replication", frozenset({"dead_peers_unnoticed"}), {"wal_sender_timeout": "0"}),
    Fault("replay paused", "replication", frozenset({"replay_paused"}), make=paused_standby),
    Fault(
        "a standby without its primary",
        "replication",
        frozenset({"standby_disconnected"}),
        make=lambda scene: primary(scene, "host=127.0.0.1 port=1 user=postgres"),
        treatable=False,
    ),
    Fault(
        "a standby that cancels queries",
        "replication",
        frozenset({"standby_cancels_queries"}),
        {"max_standby_streaming_delay": "0"},
        cancelled_on_standby,
        60,
    ),
    Fault(
        "a standby far behind", "replication", frozenset({"standby_behind"}), make=standby_that_pauses, treatable=False
    ),
    Fault(
        "a standby that hangs",
        "replication",
        frozenset({"standby_silent"}),
        {"wal_sender_timeout": "0"},
        standby_that_hangs,
        60,
        treatable=False,
    ),
    Fault(
        "a subscription that fails",
        "replication",
        frozenset({"subscription_fails"}),
        {"wal_level": "logical"},
        failing_subscription,
        60,
        lambda scene, _: scene.sql("DELETE FROM told", "reader"),
    ),
    Fault("old_snapshot_threshold", "version", frozenset({"snapshots_expire"}), {"old_snapshot_threshold": "60"}),
    Fault(
        "vacuum_defer_cleanup_age", "version", frozenset({"cleanup_deferred"}), {"vacuum_defer_cleanup_age": "1000000"}
    ),
)
