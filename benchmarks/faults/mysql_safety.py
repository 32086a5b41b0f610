"""MySQL and MariaDB: outages, capacity, safety, replication."""

from __future__ import annotations

import multiprocessing
import resource
import socket
import time
from contextlib import closing, suppress

import psutil
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_models.symptoms import Symptom

from benchmarks.faults.fault import Fault, Make, Scene, Treat
from tests.support.servers.engines import scratch

MYSQL = "mysql"
BINLOG = {"log_bin": "bin", "server_id": "1"}
COUNTER = "UPDATE counters SET value = value + 1 WHERE name = 'orders'"
ANOTHER_HOST = "127.0.0.2"
"""Also this machine, and to the server another host than the one that it never blocks."""


def _set(*statements: str) -> Make:
    def make(scene: Scene) -> None:
        for statement in statements:
            scene.sql(statement)

    return make


def _restarted(**lines: str) -> Make:
    """The server with further lines in its own file, which a start without them does not survive or a load cannot."""

    def make(scene: Scene) -> None:
        server = scene.server
        assert isinstance(server, ScratchMysqld)
        server.stop()
        kept = server.file.read_text()
        server.file.write_text("\n".join((kept.rstrip(), *(f"{n} = {v}" for n, v in lines.items()), "")))
        server.start()

    return make


def _without(*names: str) -> Treat:
    """What a person does who takes a line out of the option file."""

    def treat(scene: Scene, _: Symptom) -> None:
        server = scene.server
        assert isinstance(server, ScratchMysqld)
        server.stop()
        lines = [line for line in server.file.read_text().splitlines() if line.split("=")[0].strip() not in names]
        server.file.write_text("\n".join((*lines, "")))
        server.start()

    return treat


def _end_the_holder(scene: Scene, finding: Symptom) -> None:
    """The statement that names holders, and KILL for the first of them."""
    first = scene.sql(finding.statements[0].rstrip(";")).splitlines()[0]
    column = 2 if "blocking_pid, sql_kill" in finding.statements[0] else 0
    scene.sql(f"KILL {first.split('|')[column]}")
    time.sleep(2)


def _locked_whole(scene: Scene) -> None:
    scene.session()("FLUSH TABLES WITH READ LOCK")
    time.sleep(6)


def _locked_for_backup(scene: Scene) -> None:
    scene.session()("LOCK INSTANCE FOR BACKUP")
    change = scene.session()
    scene.in_background(lambda: change("ALTER TABLE customers ADD COLUMN mail varchar(80)"))
    time.sleep(6)


def _change_behind_a_reader(scene: Scene) -> None:
    reader, change = scene.session(), scene.session()
    reader("BEGIN")
    reader("SELECT count(*) FROM orders")
    scene.in_background(lambda: change("ALTER TABLE orders ADD COLUMN weight int, FORCE"))
    time.sleep(7)


def _all_behind_one(scene: Scene) -> None:
    holder = scene.session()
    holder("BEGIN")
    holder(COUNTER)
    for _ in range(8):
        waiter = scene.session()
        scene.in_background(lambda waiter=waiter: waiter(COUNTER))  # type: ignore[misc]
    time.sleep(11)


def _all_taken(scene: Scene) -> None:
    """All but the one connection that is kept for an administrator, which the agent's account is here."""
    most = int(scene.sql("SELECT @@GLOBAL.max_connections"))
    for _ in range(most):
        connected = int(scene.sql("SHOW GLOBAL STATUS LIKE 'Threads_connected'").split("|")[1])
        if connected > most:  # the one that asks is among them
            return
        with suppress(LabError):
            scene.session()


def _account_at_its_limit(scene: Scene) -> None:
    import pymysql

    scene.sql("CREATE USER app@'127.0.0.1' IDENTIFIED BY 'app'")
    scene.sql("GRANT ALL ON sbtest.* TO app@'127.0.0.1'")
    for _ in range(15):
        made = pymysql.connect(host=scene.server.host, port=scene.server.port, user="app", password="app")
        scene.ends.enter_context(closing(made))


def _host_blocked(scene: Scene) -> None:
    scene.sql("CREATE USER app@'%' IDENTIFIED BY 'Not-empty-1'")
    for _ in range(8):
        with closing(socket.create_connection((scene.server.host, scene.server.port), 5, (ANOTHER_HOST, 0))):
            time.sleep(0.1)
    time.sleep(1)


def _few_files(scene: Scene) -> None:
    """What a unit with a low LimitNOFILE does: a process of its own starts the server, as none may raise its limit."""

    def start() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))
        scene.server.start()

    scene.server.stop()
    starter = multiprocessing.get_context("fork").Process(target=start)
    starter.start()
    starter.join()


def _restart(scene: Scene, _: Symptom) -> None:
    scene.server.stop()
    scene.server.start()


def _prepared_left(scene: Scene) -> None:
    with scene.server.session() as run:
        for statement in ("XA START 'x1'", "INSERT INTO queue VALUES (-7, 7)", "XA END 'x1'", "XA PREPARE 'x1'"):
            run(statement)
    time.sleep(25)


def _prepared_rolled_back(scene: Scene, finding: Symptom) -> None:
    scene.sql(finding.statements[0].rstrip(";"))
    scene.sql("XA ROLLBACK 'x1'")


def _many_prepared(scene: Scene) -> None:
    scene.sql("SET GLOBAL max_prepared_stmt_count = 20")
    run = scene.session()
    for n in range(20):
        run(f"PREPARE p{n} FROM 'SELECT {n}'")


def _into_myisam(scene: Scene) -> None:
    scene.sql("CREATE TABLE visits (id int AUTO_INCREMENT PRIMARY KEY, at varchar(30)) ENGINE = MyISAM")
    run = scene.session()

    def visits() -> None:
        for n in range(2000):
            run(f"INSERT INTO visits (at) VALUES ('{n}')")
            time.sleep(0.02)

    scene.in_background(visits)


def _made_innodb(scene: Scene, _: Symptom) -> None:
    scene.sql("ALTER TABLE visits ENGINE = InnoDB")


def _source_that_is_gone(scene: Scene) -> None:
    if scene.server.engine == MYSQL:
        scene.sql("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1, SOURCE_USER = 'r'")
        scene.sql("START REPLICA")
    else:
        scene.sql(
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'r', MASTER_PASSWORD = 'r'"
        )
        scene.sql("START SLAVE")
    time.sleep(3)


def _following(scene: Scene) -> None:
    """The shop's server follows an idle one, and takes the shop's writes all the same."""
    source = scene.ends.enter_context(scratch(scene.server.engine, log_bin="bin", server_id="77"))
    source.sql("CREATE USER r@'127.0.0.1' IDENTIFIED BY 'secret-r'")
    source.sql("GRANT REPLICATION SLAVE ON *.* TO r@'127.0.0.1'")
    scene.sql(
        f"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {source.port}, MASTER_USER = 'r', "
        "MASTER_PASSWORD = 'secret-r', MASTER_USE_GTID = slave_pos"
    )
    scene.sql("START SLAVE")
    time.sleep(4)


def _broken_by_a_row(scene: Scene) -> None:
    """The source changes a table that somebody dropped on the replica."""
    source = scene.ends.enter_context(scratch(scene.server.engine, log_bin="bin", server_id="77"))
    source.sql("CREATE USER r@'127.0.0.1' IDENTIFIED BY 'secret-r'")
    source.sql("GRANT REPLICATION SLAVE ON *.* TO r@'127.0.0.1'")
    scene.sql(
        f"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {source.port}, MASTER_USER = 'r', "
        "MASTER_PASSWORD = 'secret-r', MASTER_USE_GTID = slave_pos"
    )
    scene.sql("START SLAVE")
    source.sql("CREATE TABLE sbtest.news (id int PRIMARY KEY)")
    time.sleep(4)
    scene.sql("DROP TABLE news")
    source.sql("INSERT INTO sbtest.news VALUES (1)")
    time.sleep(4)


def _most_of_the_memory() -> str:
    return str(int(0.88 * psutil.virtual_memory().total) // 2**27 * 2**27)


FAULTS = (
    # An outage now.
    Fault("read_only left on", "outage", frozenset({"writes_refused"}), make=_set("SET GLOBAL read_only = ON")),
    Fault(
        "super_read_only left on",
        "outage",
        frozenset({"writes_refused"}),
        make=_set("SET GLOBAL super_read_only = ON"),
        server=MYSQL,
    ),
    Fault(
        "transactions read-only",
        "outage",
        frozenset({"writes_refused"}),
        make=_set("SET GLOBAL tx_read_only = ON"),
    ),
    Fault(
        "innodb_force_recovery in daily use",
        "outage",
        frozenset({"rescue_mode"}),
        make=_restarted(innodb_force_recovery="1"),
        treat=_without("innodb_force_recovery"),
        server=MYSQL,
    ),
    Fault(
        "offline_mode left on",
        "outage",
        frozenset({"clients_locked_out"}),
        make=_set("SET GLOBAL offline_mode = ON"),
        server=MYSQL,
    ),
    Fault(
        "FLUSH TABLES WITH READ LOCK left",
        "outage",
        frozenset({"server_locked"}),
        make=_locked_whole,
        treat=_end_the_holder,
    ),
    Fault(
        "LOCK INSTANCE FOR BACKUP left",
        "outage",
        frozenset({"server_locked"}),
        make=_locked_for_backup,
        treat=_end_the_holder,
        server=MYSQL,
    ),
    Fault(
        "ALTER TABLE behind a reader",
        "outage",
        frozenset({"tables_locked"}),
        make=_change_behind_a_reader,
        treat=_end_the_holder,
    ),
    Fault(
        "all behind one row",
        "outage",
        frozenset({"all_wait_for_locks"}),
        {"innodb_lock_wait_timeout": "300"},
        make=_all_behind_one,
        treat=_end_the_holder,
    ),
    Fault(
        "semi-sync without a replica",
        "outage",
        frozenset({"commits_wait_for_replica", "semi_sync_alone"}),
        BINLOG,
        make=_set("SET GLOBAL rpl_semi_sync_master_timeout = 3600000", "SET GLOBAL rpl_semi_sync_master_enabled = ON"),
    ),
    Fault(
        "semi-sync without a replica",
        "outage",
        frozenset({"commits_wait_for_replica", "semi_sync_alone"}),
        make=_set(
            "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
            "SET GLOBAL rpl_semi_sync_source_timeout = 3600000",
            "SET GLOBAL rpl_semi_sync_source_enabled = ON",
        ),
        server=MYSQL,
    ),
    Fault(
        "all connections taken", "outage", frozenset({"connections_exhausted"}), {"max_connections": "25"}, _all_taken
    ),
    Fault(
        "an account at max_user_connections",
        "outage",
        frozenset({"account_connections_exhausted"}),
        {"max_user_connections": "15"},
        make=_account_at_its_limit,
    ),
    Fault(
        "a host blocked",
        "outage",
        frozenset({"hosts_blocked"}),
        {"max_connect_errors": "5", "bind_address": "0.0.0.0", "performance_schema": "ON"},
        make=_host_blocked,
        server=MYSQL,
    ),
    Fault(
        "prepared statements leaked",
        "outage",
        frozenset({"prepared_statements_exhausted", "prepared_statements_near_limit"}),
        make=_many_prepared,
    ),
    # Capacity.
    Fault(
        "buffers of each connection",
        "capacity",
        frozenset({"memory_beyond_host"}),
        {"join_buffer_size": "1G", "sort_buffer_size": "256M", "max_connections": "500"},
    ),
    Fault(
        "a buffer pool of the whole host",
        "capacity",
        frozenset({"memory_beyond_host"}),
        {"innodb_buffer_pool_size": _most_of_the_memory()},
    ),
    Fault(
        "temporary tables of a gigabyte",
        "capacity",
        frozenset({"memory_beyond_host"}),
        {"tmp_table_size": "1G", "max_heap_table_size": "1G", "max_connections": "1000"},
    ),
    Fault(
        "binary logs kept for ever",
        "capacity",
        frozenset({"binlogs_fill_disk", "binlogs_kept_for_ever"}),
        BINLOG,
        seconds=30,
    ),
    Fault(
        "removal of binary logs off",
        "capacity",
        frozenset({"binlogs_fill_disk", "binlogs_kept_for_ever"}),
        {"binlog_expire_logs_auto_purge": "OFF"},
        treat=lambda scene, _: scene.sql("SET PERSIST binlog_expire_logs_auto_purge = ON"),
        seconds=30,
        server=MYSQL,
    ),
    Fault(
        "open_files_limit of 512",
        "capacity",
        frozenset({"caches_cut_by_open_files"}),
        make=_few_files,
        treat=_restart,
    ),
    Fault(
        "a prepared transaction left",
        "safety",
        frozenset({"prepared_transactions_left"}),
        make=_prepared_left,
        treat=_prepared_rolled_back,
    ),
    # Durability.
    Fault(
        "innodb_flush_log_at_trx_commit 0",
        "safety",
        frozenset({"commits_not_on_disk"}),
        {"innodb_flush_log_at_trx_commit": "0"},
    ),
    Fault(
        "innodb_flush_log_at_trx_commit 2",
        "safety",
        frozenset({"commits_not_on_disk"}),
        {"innodb_flush_log_at_trx_commit": "2"},
        server=MYSQL,
    ),
    Fault("sync_binlog 0", "safety", frozenset({"binlog_not_on_disk"}), {"sync_binlog": "0"}, server=MYSQL),
    Fault("sync_binlog 1000", "safety", frozenset({"binlog_not_on_disk"}), {**BINLOG, "sync_binlog": "1000"}),
    Fault(
        "doublewrite off",
        "safety",
        frozenset({"pages_may_tear"}),
        {"innodb_doublewrite": "OFF"},
        treat=_without("innodb_doublewrite"),
    ),
    Fault(
        "doublewrite off",
        "safety",
        frozenset({"pages_may_tear"}),
        {"innodb_doublewrite": "OFF"},
        treat=_without("innodb_doublewrite"),
        server=MYSQL,
    ),
    Fault(
        "innodb_flush_method nosync",
        "safety",
        frozenset({"writes_not_forced"}),
        {"innodb_flush_method": "nosync"},
        treat=_without("innodb_flush_method"),
    ),
    Fault(
        "redo log disabled",
        "safety",
        frozenset({"redo_switched_off"}),
        make=_set("ALTER INSTANCE DISABLE INNODB REDO_LOG"),
        server=MYSQL,
    ),
    Fault(
        "checksums off",
        "safety",
        frozenset({"damage_is_not_seen"}),
        {"innodb_checksum_algorithm": "none"},
        server=MYSQL,
    ),
    Fault(
        "sql_mode without strictness",
        "safety",
        frozenset({"values_cut_silently"}),
        {"sql_mode": "NO_ENGINE_SUBSTITUTION"},
    ),
    Fault(
        "foreign keys unchecked",
        "safety",
        frozenset({"constraints_not_checked"}),
        make=_set("SET GLOBAL foreign_key_checks = OFF", "SET GLOBAL unique_checks = OFF"),
    ),
    Fault(
        "MyISAM by default",
        "safety",
        frozenset({"tables_not_crash_safe"}),
        make=_set("SET GLOBAL default_storage_engine = MyISAM"),
        treat=lambda scene, finding: scene.sql(finding.statements[0].rstrip(";")),
    ),
    Fault("MyISAM tables in use", "safety", frozenset({"myisam_written"}), make=_into_myisam, treat=_made_innodb),
    Fault(
        "uncommitted rows read",
        "safety",
        frozenset({"uncommitted_rows_read"}),
        make=_set("SET GLOBAL TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"),
        server=MYSQL,
    ),
    Fault(
        "autocommit off", "safety", frozenset({"nothing_commits_by_itself"}), make=_set("SET GLOBAL autocommit = OFF")
    ),
    Fault(
        "one file for all tables",
        "safety",
        frozenset({"tables_share_one_file"}),
        make=_set("SET GLOBAL innodb_file_per_table = OFF"),
        treat=lambda scene, finding: scene.sql(finding.statements[0].rstrip(";")),
    ),
    # Binary log and replication.
    Fault(
        "binlog_format STATEMENT",
        "replication",
        frozenset({"binlog_of_statements"}),
        {**BINLOG, "binlog_format": "STATEMENT"},
    ),
    Fault(
        "binlog_error_action IGNORE_ERROR",
        "replication",
        frozenset({"binlog_errors_ignored"}),
        {"binlog_error_action": "IGNORE_ERROR"},
        server=MYSQL,
    ),
    Fault(
        "max_binlog_cache_size of a megabyte",
        "replication",
        frozenset({"transactions_bounded"}),
        BINLOG,
        make=_set("SET GLOBAL max_binlog_cache_size = 1048576"),
    ),
    Fault(
        "a replica whose source is gone",
        "replication",
        frozenset({"replication_stopped"}),
        {"server_id": "9"},
        make=_source_that_is_gone,
        treatable=False,
    ),
    Fault(
        "a replica whose source is gone",
        "replication",
        frozenset({"replication_stopped"}),
        {"server_id": "9"},
        make=_source_that_is_gone,
        treatable=False,
        server=MYSQL,
    ),
    Fault(
        "a replica that cannot apply",
        "replication",
        frozenset({"replication_stopped"}),
        {"server_id": "9"},
        make=_broken_by_a_row,
        treatable=False,
    ),
    Fault(
        "a replica that takes writes",
        "replication",
        frozenset({"replica_takes_writes"}),
        {"server_id": "9"},
        make=_following,
    ),
    Fault(
        "slave_skip_errors all",
        "replication",
        frozenset({"replica_skips_errors"}),
        {"slave_skip_errors": "all"},
        treat=_without("slave_skip_errors"),
    ),
    Fault(
        "slave_exec_mode IDEMPOTENT",
        "replication",
        frozenset({"replica_skips_errors"}),
        make=_set("SET GLOBAL slave_exec_mode = 'IDEMPOTENT'"),
        server=MYSQL,
    ),
    # Who gets in.
    Fault(
        "an account without a password",
        "safety",
        frozenset({"accounts_without_password"}),
        make=_set("CREATE USER shop@'%'", "GRANT ALL ON sbtest.* TO shop@'%'"),
        treat=lambda scene, _: scene.sql("ALTER USER shop@'%' IDENTIFIED BY 'Now-it-has-1'"),
    ),
    Fault(
        "an account without a name",
        "safety",
        frozenset({"accounts_without_password"}),
        make=_set("CREATE USER ''@'localhost'"),
        treat=lambda scene, finding: scene.sql(finding.statements[-1].rstrip(";")),
    ),
    Fault(
        "root from anywhere",
        "safety",
        frozenset({"administrator_from_anywhere"}),
        make=_set("CREATE USER root@'%' IDENTIFIED BY 'Secret-1'", "GRANT ALL ON *.* TO root@'%'"),
        treat=lambda scene, _: scene.sql("DROP USER root@'%'"),
        server=MYSQL,
    ),
    Fault(
        "skip_grant_tables left on",
        "safety",
        frozenset({"nobody_is_asked"}),
        make=_restarted(skip_grant_tables="ON", skip_networking="OFF"),
        treat=_without("skip_grant_tables", "skip_networking"),
    ),
)
