"""Cases of MySQL's and MariaDB's outages, room, safety, replication and access."""

from __future__ import annotations

from dataclasses import replace

from lutra_models.server import Server, ServerSetting

from tests.support.reported.postgresql import GB
from tests.unit.symptoms.case import MB, Case, maria, my


def worded(server: Server, **words: str) -> Server:
    """With settings whose words the server does not list."""
    more = {n: replace(server.settings.get(n, ServerSetting("", kind="enum")), value=v) for n, v in words.items()}
    return replace(server, settings={**server.settings, **more})


def flagged(server: Server, **flags: str) -> Server:
    """With switches that a fresh server's recorded settings do not have."""
    more = {name: ServerSetting(value, kind="bool") for name, value in flags.items()}
    return replace(server, settings={**server.settings, **more})


def my80(version: str = "8.0.36", **words: str) -> Server:
    """A MySQL of an older version, with settings that a newer one has no more."""
    return replace(worded(my(), **words), version=version)


def semi_synchronous(server: Server, word: str = "source", timeout_ms: int = 60_000) -> Server:
    more = {
        f"rpl_semi_sync_{word}_enabled": ServerSetting("ON", kind="bool"),
        f"rpl_semi_sync_{word}_timeout": ServerSetting(str(timeout_ms), "ms", "integer", 0, 2**32),
    }
    return replace(server, settings={**server.settings, **more})


REPLICA = {
    "replication.channels": 1,
    "replication.stopped": 0,
    "replication.not_receiving": 0,
    "replication.not_applying": 0,
    "replication.io_error": 0,
    "replication.sql_error": 0,
    "replication.delay_s": 0,
    "replication.by_place": 0,
    "replication.filtered": 0,
    "replication.lag_s": 900,
}
STOPPED = {**REPLICA, "replication.stopped": 1, "replication.not_applying": 1, "replication.sql_error": 1062}
ACCOUNTS = {
    "accounts.open_from_afar": 2,
    "accounts.anonymous": 1,
    "accounts.open_here": 3,
    "accounts.root_anywhere": 1,
    "accounts.old_plugin": 4,
}
SERVER_LOCKED = {"sessions.global_lock": 6, "sessions.global_lock_s": 40}
TABLES_LOCKED = {"sessions.table_lock": 6, "sessions.table_lock_s": 40}
ROWS_LOCKED = {"open_transactions.waiting": 8, "open_transactions.oldest_s": 60, "sessions.working": 9}
UNACKNOWLEDGED = {
    "sessions.replica_ack": 3,
    "sessions.replica_ack_s": 40,
    "semi_sync.clients": 0,
    "semi_sync.active": 1,
}
BINLOGS = {"binlog.written_bytes": 3600 * 1.0 * MB, "host.disk_free_bytes": 50 * GB, "server.up_s": 7200}
BINLOGS_MYSQL = {**BINLOGS, "binlog_files.written_bytes": 3600 * 1.0 * MB}
BOTH = (maria, my)
DENIED = ("threads.access_denied", "failures.denied")
"""What each of the two counts when it denies a login."""
MYSQL_SAFETY = (
    Case(
        "writes_refused",
        maria(read_only="ON"),
        {},
        {"replication.channels": 1},
        says="refuses writes (read_only), and",
        executes=["SET GLOBAL read_only = OFF;"],
        quiet=[maria()],
    ),
    Case(
        "writes_refused",
        my(read_only="ON", super_read_only="ON", transaction_read_only="ON"),
        {},
        {"group.members": 3},
        says="(super_read_only, read_only, transaction_read_only)",
        quiet=[my()],
    ),
    *(Case("started_to_be_read", of(innodb_read_only="ON"), quiet=[of()]) for of in BOTH),
    Case("rescue_mode", my(innodb_force_recovery=1), quiet=[my()], says="is 1: InnoDB refuses INSERT"),
    Case(
        "rescue_mode",
        maria(innodb_force_recovery=2),
        quiet=[maria()],
        says="is 2: damaged pages are skipped; from 2 on, old rows are not purged,",
    ),
    Case("clients_locked_out", my(offline_mode="ON"), quiet=[my()], executes=["SET PERSIST offline_mode = OFF;"]),
    *(
        Case(
            "connections_exhausted",
            of(max_connections=200),
            {"threads.connected": 200},
            {"threads.connected": 190},
            says="200 connections are open, and max_connections is 200",
            cures={"max_connections": 300},
        )
        for of in BOTH
    ),
    *(
        Case(
            "account_connections_exhausted",
            of(max_user_connections=50),
            {"sessions.most_of_account": 50},
            {"sessions.most_of_account": 47},
            says="has 50 of the 50 connections",
            quiet=[of()],
        )
        for of in BOTH
    ),
    *(
        Case("hosts_blocked", of(), {"hosts.blocked": 1}, {"hosts.blocked": 0}, says="max_connect_errors = 100")
        for of in BOTH
    ),
    *(
        Case(
            "prepared_statements_exhausted",
            of(),
            {"caches.prepared_statements": 16_382},
            {"caches.prepared_statements": 16_381},
            says="max_prepared_stmt_count allows 16,382 in total: every further PREPARE fails",
        )
        for of in BOTH
    ),
    *(
        Case(
            "prepared_statements_near_limit",
            of(),
            {"caches.prepared_statements": 16_000},
            {"caches.prepared_statements": 14_000},
            [{"caches.prepared_statements": 16_382}],
            says="hold 16,000 of the 16,382",
        )
        for of in BOTH
    ),
    *(
        Case(
            "server_locked",
            of(),
            SERVER_LOCKED,
            {"sessions.global_lock_s": 4},
            [{"sessions.global_lock": 0}],
            says=says,
        )
        for of, says in zip(BOTH, ("MAY_HOLD_IT is 1 for", "no backup depends on it."), strict=True)
    ),
    *(
        Case(
            "tables_locked",
            of(),
            TABLES_LOCKED,
            {"sessions.table_lock": 1, "sessions.table_lock_s": 29},
            [{"sessions.table_lock_s": 4}],
        )
        for of in BOTH
    ),
    *(
        Case(
            "all_wait_for_locks",
            of(),
            ROWS_LOCKED,
            {"open_transactions.waiting": 6},
            [{"open_transactions.oldest_s": 9}, {"open_transactions.waiting": 3, "sessions.working": 3}],
            says="8 of 9 active sessions wait for row locks",
        )
        for of in BOTH
    ),
    *(
        Case(
            "commits_wait_for_replica",
            semi_synchronous(server, word),
            UNACKNOWLEDGED,
            {"semi_sync.clients": 1},
            [{"sessions.replica_ack": 0}],
            says="for a replica's acknowledgement: 3, the longest for 40 s. No semi-synchronous",
            executes=[f"SET GLOBAL rpl_semi_sync_{word}_enabled = OFF;"],
        )
        for server, word in ((maria(), "master"), (my(), "source"), (my(), "master"))
    ),
    Case(
        "cluster_refuses",
        maria(wsrep_on="ON"),
        {"cluster.ready": 0, "cluster.primary": 0, "cluster.size": 1},
        {"cluster.ready": 1, "cluster.primary": 1},
        says="wsrep_ready is OFF and the component is not primary (its size: 1)",
        quiet=[maria()],
    ),
    Case(
        "cluster_held_up",
        maria(wsrep_on="ON"),
        {"cluster.paused_ns": 1200e9},
        {"cluster.paused_ns": 350e9},
        says="was paused 33.3 % of the time",
        quiet=[maria()],
    ),
    Case(
        "memory_beyond_host",
        maria(memory_gb=20, join_buffer_size="1G", sort_buffer_size="256M", max_connections=500),
        quiet=[maria(memory_gb=20), maria(memory_gb=20, innodb_buffer_pool_size="15G", max_connections=300)],
        cures={"join_buffer_size": 48 * MB, "sort_buffer_size": 12_058_624},
        says="The largest part is sorts, joins and scans of connections: 313 GB",
    ),
    Case(
        "memory_beyond_host",
        my(memory_gb=20, innodb_buffer_pool_size="18G"),
        quiet=[my(memory_gb=20, innodb_buffer_pool_size="14G"), my()],
        cures={"innodb_buffer_pool_size": 14 * GB},
        says="The largest part is innodb_buffer_pool_size: 18 GB",
    ),
    *(
        Case(
            "binlogs_fill_disk",
            server,
            shown,
            {"host.disk_free_bytes": 8000 * GB},
            [dict.fromkeys(("binlog.written_bytes", "binlog_files.written_bytes"), 3600 * 2000.0)],
            says="grow by 1 MB/s, and nothing removes them",
            quiet=[quiet],
        )
        for server, shown, quiet in (
            (maria(), BINLOGS, maria(binlog_expire_logs_seconds=36000)),
            (my(binlog_expire_logs_auto_purge="OFF"), BINLOGS_MYSQL, my(binlog_expire_logs_seconds=36000)),
        )
    ),
    Case(
        "binlogs_fill_disk",
        my(),
        BINLOGS_MYSQL,
        {"server.up_s": 86400 * 31},
        [{"host.disk_free_bytes": 3000 * GB}],
        says="the disk has no room for their retention time",
    ),
    Case("binlogs_kept_for_ever", maria(), quiet=[maria(binlog_expire_logs_seconds=86400), maria(log_bin="OFF")]),
    Case(
        "binlogs_kept_for_ever",
        my(binlog_expire_logs_auto_purge="OFF"),
        quiet=[my()],
        says="binlog_expire_logs_auto_purge = OFF",
    ),
    *(
        Case("caches_cut_by_open_files", of(open_files_limit=1024, table_open_cache=431), quiet=[of()], says="1,023")
        for of in BOTH
    ),
    *(
        Case(
            "prepared_transactions_left",
            of(),
            {"prepared.transactions": 1, "prepared.oldest_s": 7200, "prepared.rows_locked": 3},
            {"prepared.oldest_s": 19},
            [{"prepared.transactions": 0}],
            says="1, the oldest started 2 h ago. They hold locks on 3 rows,",
        )
        for of in BOTH
    ),
    *(
        Case(
            "commits_not_on_disk",
            of(innodb_flush_log_at_trx_commit="0"),
            {},
            {"replication.channels": 1},
            says="a crash of the server or the host loses the commits of the last 1 s, and leaves the binary log",
            executes=[f"SET {keep} innodb_flush_log_at_trx_commit = 1;"],
            quiet=[of()],
        )
        for of, keep in ((maria, "GLOBAL"), (my, "PERSIST"))
    ),
    *(
        Case(
            "replica_commits_not_on_disk",
            of(innodb_flush_log_at_trx_commit="2"),
            REPLICA,
            {"replication.channels": 0},
            quiet=[of(sync_binlog=1)],
        )
        for of in BOTH
    ),
    *(
        Case(
            "binlog_not_on_disk",
            of(sync_binlog=0),
            {"sessions.followers": 2},
            {"replication.channels": 1},
            says="replicas may have transactions that this server lost",
            quiet=[of(sync_binlog=1)],
        )
        for of in BOTH
    ),
    *(Case("pages_may_tear", of(innodb_doublewrite="OFF"), quiet=[of()]) for of in BOTH),
    Case("redo_switched_off", my(), {"switches.redo_off": 1}, {"switches.redo_off": 0}),
    *(Case("writes_not_forced", of(innodb_flush_method="nosync"), quiet=[of()]) for of in BOTH),
    *(Case("writes_not_always_forced", of(innodb_flush_method="O_DIRECT_NO_FSYNC"), quiet=[of()]) for of in BOTH),
    Case(
        "damage_is_not_seen",
        worded(my(), innodb_checksum_algorithm="none", innodb_log_checksums="OFF"),
        quiet=[my()],
        says="(innodb_checksum_algorithm, innodb_log_checksums)",
    ),
    Case("damage_is_ignored", my(innodb_force_load_corrupted="ON"), quiet=[my()]),
    *(Case("tables_not_crash_safe", worded(of(), default_storage_engine="MyISAM"), quiet=[of()]) for of in BOTH),
    *(
        Case(
            "tables_without_transactions",
            of(),
            {"table_engines.myisam": 2, "table_engines.aria": 1, "myisam.key_write_requests": 0},
            {"table_engines.myisam": 0, "table_engines.aria": 0},
            [{"myisam.key_write_requests": 7200}],
            says=f"no transactions: 3 (2 of MyISAM, 1 of Aria{told})",
            texts=texts,
        )
        for of in BOTH
        for texts, told in (({}, ""), ({"table_engines.names": "shop.orders"}, "; such as shop.orders"))
    ),
    *(
        Case(
            "auto_increment_near_end",
            of(),
            {"auto_increment.used_share": 0.98, "auto_increment.near_end": 2},
            {"auto_increment.used_share": 0.74},
            says=f"has used 98 % of the numbers of its type; tables with three quarters used: 2{told}.",
            texts=texts,
        )
        for of in BOTH
        for texts, told in (({}, ""), ({"auto_increment.near_end_names": "shop.orders"}, " (shop.orders)"))
    ),
    *(
        Case(
            "replicated_tables_without_key",
            worded(of(), log_bin="ON", binlog_format="ROW"),
            {"table_keys.without_key": 3, "sessions.followers": 1},
            {"table_keys.without_key": 0},
            [{"sessions.followers": 0}],
            quiet=[worded(of(), log_bin="ON", binlog_format="STATEMENT"), of(log_bin="OFF")],
        )
        for of in BOTH
    ),
    *(
        Case("no_connection_left", of(), {"login.none_left": 1}, {"login.none_left": 0}, says="with error 1040")
        for of in BOTH
    ),
    *(Case("server_mute", of(), {"login.mute": 1}, {"login.mute": 0}, says="no greeting") for of in BOTH),
    *(
        Case(
            "certificate_ends",
            of(),
            {"certificate.left_s": -90.0},
            {"certificate.left_s": 86400 * 21.5},
            says="has expired: clients",
            executes=[reload],
        )
        for of, reload in ((maria, "FLUSH SSL;"), (my, "ALTER INSTANCE RELOAD TLS;"))
    ),
    *(
        Case("myisam_written", of(), {"myisam.key_write_requests": 7200}, {"myisam.key_write_requests": 350})
        for of in BOTH
    ),
    *(Case("indexes_written_late", worded(of(), delay_key_write="ALL"), quiet=[of()]) for of in BOTH),
    *(Case("values_cut_silently", of(), {"switches.not_strict": 1}, {"switches.not_strict": 0}) for of in BOTH),
    Case(
        "constraints_not_checked",
        maria(foreign_key_checks="OFF", check_constraint_checks="OFF"),
        quiet=[maria()],
        executes=["SET GLOBAL foreign_key_checks = ON;", "SET GLOBAL check_constraint_checks = ON;"],
    ),
    Case("constraints_not_checked", my(unique_checks="OFF"), quiet=[my()], says="unique_checks is off"),
    Case("uncommitted_rows_read", worded(maria(), tx_isolation="READ-UNCOMMITTED"), quiet=[maria()]),
    Case("uncommitted_rows_read", worded(my(), transaction_isolation="READ-UNCOMMITTED"), quiet=[my()]),
    *(Case("nothing_commits_by_itself", of(autocommit="OFF"), quiet=[of()]) for of in BOTH),
    *(Case("tables_share_one_file", of(innodb_file_per_table="OFF"), quiet=[of()]) for of in BOTH),
    *(Case("binlog_off", of(log_bin="OFF"), quiet=[of()]) for of in BOTH),
    *(Case("binlog_of_statements", worded(of(), binlog_format="STATEMENT"), quiet=[of()]) for of in BOTH),
    *(Case("binlog_of_some_columns", of(binlog_row_image="MINIMAL"), quiet=[of()]) for of in BOTH),
    Case("binlog_errors_ignored", worded(my(), binlog_error_action="IGNORE_ERROR"), quiet=[my()]),
    *(Case("binlog_without_checksums", worded(of(), binlog_checksum="NONE"), quiet=[of()]) for of in BOTH),
    *(
        Case("transactions_bounded", of(max_binlog_cache_size=2**20), quiet=[of(max_binlog_cache_size=2**27)])
        for of in BOTH
    ),
    *(
        Case(
            "semi_sync_alone",
            semi_synchronous(server, word),
            {"semi_sync.clients": 0, "semi_sync.active": 0},
            {"semi_sync.clients": 1},
            [{"replication.channels": 1}],
            says="switched to asynchronous replication,",
            quiet=[server],
        )
        for server, word in ((maria(), "master"), (my(), "source"))
    ),
    *(
        Case(
            "replication_stopped",
            server,
            STOPPED,
            {"replication.stopped": 0},
            says="Stopped replication channels: 1 of 1. Receiving continues; applying has stopped with error 1062.",
            executes=executes,
        )
        for server, executes in (
            (maria(), ["SHOW ALL SLAVES STATUS;", "START ALL SLAVES;"]),
            (my(), ["SHOW REPLICA STATUS;", "START REPLICA;"]),
            (my80("8.0.20"), ["SHOW SLAVE STATUS;", "START SLAVE;"]),
        )
    ),
    *(
        Case(
            "replica_lags",
            of(),
            REPLICA,
            {"replication.lag_s": 59},
            [{"replication.delay_s": 850}, {"replication.stopped": 1}],
            says=f"waits or loses that much. {threads}",
        )
        for of, threads in ((maria, "One thread applies"), (my, "Several threads apply"))
    ),
    *(
        Case(
            "replica_takes_writes",
            of(),
            REPLICA,
            {"replication.channels": 0},
            [{"sessions.followers": 1}],
            quiet=[of(read_only="ON")],
        )
        for of in BOTH
    ),
    Case("replica_skips_errors", maria(), {"switches.skips_errors": 1}, {"switches.skips_errors": 0}),
    Case(
        "replica_skips_errors",
        worded(my(), slave_exec_mode="IDEMPOTENT"),
        quiet=[my()],
        says="(slave_exec_mode=IDEMPOTENT)",
    ),
    Case(
        "replica_place_in_files",
        my80(master_info_repository="FILE", relay_log_info_repository="FILE"),
        quiet=[my80(master_info_repository="TABLE", relay_log_info_repository="TABLE"), my80()],
    ),
    *(
        Case("replica_not_crash_safe", of(), REPLICA, {"replication.channels": 0}, quiet=[of(relay_log_recovery="ON")])
        for of in BOTH
    ),
    Case(
        "replica_without_binlog", maria(), REPLICA, {"replication.channels": 0}, quiet=[maria(log_slave_updates="ON")]
    ),
    Case("replica_without_binlog", my(log_slave_updates="OFF"), REPLICA, {"replication.channels": 0}, quiet=[my()]),
    *(
        Case("replica_leaves_out", of(), {**REPLICA, "replication.filtered": 1}, {"replication.filtered": 0})
        for of in BOTH
    ),
    Case(
        "replica_commits_out_of_order",
        flagged(my(replica_parallel_workers=8), replica_preserve_commit_order="OFF"),
        REPLICA,
        {"replication.channels": 0},
        quiet=[my(), flagged(my(replica_parallel_workers=1), replica_preserve_commit_order="OFF")],
        says="by 8 threads",
    ),
    *(
        Case(
            "pool_cold_after_start",
            flagged(of(memory_gb=64, innodb_buffer_pool_size="32G"), innodb_buffer_pool_dump_at_shutdown="OFF"),
            says="Off: innodb_buffer_pool_dump_at_shutdown. After a restart the buffer pool of 32 GB",
            quiet=[of(), flagged(of(), innodb_buffer_pool_dump_at_shutdown="OFF")],
        )
        for of in BOTH
    ),
    Case(
        "gtid_half_way",
        worded(my(), gtid_mode="ON_PERMISSIVE"),
        quiet=[my(), worded(my(), gtid_mode="OFF", enforce_gtid_consistency="OFF")],
    ),
    Case(
        "gtid_half_way",
        my(),
        {**REPLICA, "replication.by_place": 1},
        {"replication.by_place": 0},
        says="a channel positioned by file and offset:",
    ),
    *(
        Case("packets_small", of(max_allowed_packet="64K"), quiet=[of()], cures={"max_allowed_packet": 64 * MB})
        for of in BOTH
    ),
    *(Case("ends_like_a_crash", of(innodb_fast_shutdown=2), quiet=[of()]) for of in BOTH),
    Case("nobody_is_asked", maria(skip_grant_tables="ON"), quiet=[maria()]),
    *(
        Case(
            "accounts_without_password",
            of(),
            ACCOUNTS,
            {"accounts.open_from_afar": 0, "accounts.anonymous": 0},
            says="from other hosts: 2. Accounts without a name: 1.",
        )
        for of in BOTH
    ),
    *(Case("local_accounts_without_password", of(), ACCOUNTS, {"accounts.open_here": 0}) for of in BOTH),
    *(Case("administrator_from_anywhere", of(), ACCOUNTS, {"accounts.root_anywhere": 0}) for of in BOTH),
    Case("passwords_of_old_kind", my(), ACCOUNTS, {"accounts.old_plugin": 0}, says="with mysql_native_password: 4."),
    *(
        Case(
            "logins_broken_off",
            of(),
            {"threads.aborted_connects": 3600, "threads.connections": 7200},
            {"threads.connections": 20_000},
            [{"threads.aborted_connects": 700, "threads.connections": 700}, {"threads.refused": 3590}],
            says="3,600 of 7,200 connections in 1 h ended before the login: a wrong password, a host",
        )
        for of in BOTH
    ),
    *(
        Case(
            "logins_broken_off",
            of(),
            {"threads.aborted_connects": 3600, "threads.connections": 4200, denied: 600},
            {"threads.connections": 16_000},
            [{denied: 3590}],
            says="3,000 of 4,200 connections in 1 h ended before the login: a host",
        )
        for of, denied in zip(BOTH, DENIED, strict=True)
    ),
    *(
        Case(
            "logins_denied",
            of(),
            {"threads.aborted_connects": 3600, "threads.connections": 7200, denied: 5000},
            {"threads.connections": 20_000},
            [{denied: 700}, {"threads.refused": 3590}],
            says="3,600 of 7,200 connections in 1 h were refused for a wrong account or password",
        )
        for of, denied in zip(BOTH, DENIED, strict=True)
    ),
    Case(
        "logins_denied",
        maria(),
        {
            "threads.aborted_connects": 3600,
            "threads.connections": 7200,
            "threads.access_denied": 5000,
            "threads.aborted_before_login": 1600,
        },
        {"threads.aborted_before_login": 2900},
        says="2,000 of 7,200 connections",
    ),
    *(
        Case(
            "connections_in_clear",
            of(),
            {"switches.listens_beyond": 1},
            {"switches.listens_beyond": 0},
            quiet=[of(require_secure_transport="ON")],
        )
        for of in BOTH
    ),
    *(Case("old_encryption", of(), {"switches.old_tls": 1}, {"switches.old_tls": 0}) for of in BOTH),
    Case("clients_files_loaded", my(local_infile="ON"), quiet=[my()]),
    Case("servers_files_open", my(), {"switches.files_anywhere": 1}, {"switches.files_anywhere": 0}),
    *(Case("no_network", of(skip_networking="ON"), quiet=[of()]) for of in BOTH),
    Case("version_without_fixes", my80(), quiet=[my(), my80("8.4.5")], says="no fixes after April 2026"),
    Case("version_without_fixes", replace(maria(), version="10.6.19-MariaDB"), quiet=[maria()], says="July 2026"),
    Case("version_withdrawn", my80("8.0.38"), quiet=[my80("8.0.39"), my()], says="more than 8,000 tables"),
)
