"""The counters and gauges of every sample of PostgreSQL: a collector for each statistics view."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

# pg_stat_activity: who is connected and what they wait for. Without pg_monitor, other accounts' states are hidden.

ACTIVITY = Collector(
    "activity",
    "pg_stat_activity",
    {
        12: """SELECT count(*) AS connections, count(*) FILTER (WHERE state = 'active') AS active,
count(*) FILTER (WHERE state LIKE 'idle in transaction%') AS idle_in_transaction,
CASE WHEN bool_and(state IS NOT NULL AND state <> 'disabled') THEN count(*) FILTER (WHERE state = 'idle') END AS idle,
count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Lock') AS waiting_lock,
count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'LWLock') AS waiting_lwlock,
count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'BufferPin') AS waiting_pin,
count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'IO') AS waiting_io,
count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'IPC') AS waiting_ipc,
count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Client') AS waiting_client,
count(*) FILTER (WHERE wait_event = 'WALSync' OR wait_event = 'WalSync') AS waiting_wal_sync,
count(*) FILTER (WHERE wait_event = 'SyncRep') AS waiting_standby,
coalesce(extract(epoch FROM max(clock_timestamp() - state_change) FILTER (WHERE wait_event = 'SyncRep')), 0)
AS longest_wait_for_standby_s,
coalesce(extract(epoch FROM max(clock_timestamp() - xact_start)), 0) AS oldest_transaction_s,
current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
- coalesce(nullif(current_setting('reserved_connections', true), ''), '0')::int AS places
FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()""",
    },
    gauges=None,
)


# pg_stat_archiver: archived segments, failures to archive, for how long all has failed; and what waits to be
# archived.
#
# Of the command itself, which may hold a password, only this leaves the server: whether there is none, and whether it
# keeps nothing.

ARCHIVER = Collector(
    "archiver",
    "pg_stat_archiver",
    {
        12: r"""SELECT archived_count AS archived, failed_count AS failed,
CASE WHEN last_failed_time > coalesce(last_archived_time, '-infinity')
THEN extract(epoch FROM clock_timestamp() - coalesce(last_archived_time, stats_reset)) ELSE 0 END AS failing_s,
CASE WHEN may THEN (current_setting('archive_command') IN ('', '(disabled)')
AND coalesce(current_setting('archive_library', true), '') = '')::int END AS without_command,
CASE WHEN may THEN (current_setting('archive_command')
~ '^\s*(/usr)?(/bin/)?(true|:|exit 0|cd \.|echo( [^|>&;]*)?)\s*$')::int END AS keeps_nothing,
stats_reset AS epoch FROM pg_stat_archiver, (SELECT pg_has_role('pg_read_all_settings', 'USAGE') AS may) rights""",
    },
    gauges=frozenset({"failing_s", "without_command", "keeps_nothing"}),
)

WAITING = Collector(
    "archive",
    "pg_ls_archive_statusdir",
    {
        12: """SELECT count(*) AS waiting,
coalesce(extract(epoch FROM clock_timestamp() - min(modification)), 0) AS oldest_s
FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'""",
    },
    gauges=None,
    right="has_function_privilege('pg_ls_archive_statusdir()', 'EXECUTE')",
    grant="GRANT pg_monitor TO {account};",
    every_s=20.0,
)


# pg_stat_bgwriter: what the background writer cleaned.

CLEANED = "buffers_clean, maxwritten_clean, buffers_alloc"

BGWRITER = Collector(
    "bgwriter",
    "pg_stat_bgwriter",
    {
        12: f"SELECT {CLEANED}, buffers_backend, buffers_backend_fsync, stats_reset AS epoch FROM pg_stat_bgwriter",  # noqa: S608
        17: f"SELECT {CLEANED}, stats_reset AS epoch FROM pg_stat_bgwriter",  # noqa: S608
    },
)


# Checkpoints: pg_stat_checkpointer since PostgreSQL 17, columns of pg_stat_bgwriter before.

CHECKPOINTER = Collector(
    "checkpointer",
    "pg_stat_checkpointer",
    {
        12: """SELECT checkpoints_timed AS timed, checkpoints_req AS requested, checkpoint_write_time AS write_ms,
checkpoint_sync_time AS sync_ms, buffers_checkpoint AS buffers_written, stats_reset AS epoch FROM pg_stat_bgwriter""",
        17: """SELECT num_timed AS timed, num_requested AS requested, write_time AS write_ms, sync_time AS sync_ms,
buffers_written, stats_reset AS epoch FROM pg_stat_checkpointer""",
    },
)


# pg_stat_database, summed over the databases. Checksums fail where pages have one.

DATABASE_SUMS = """sum(xact_commit) AS xact_commit, sum(xact_rollback) AS xact_rollback, sum(blks_read) AS blks_read,
sum(blks_hit) AS blks_hit, sum(tup_returned) AS tup_returned, sum(tup_fetched) AS tup_fetched,
sum(tup_inserted) AS tup_inserted, sum(tup_updated) AS tup_updated, sum(tup_deleted) AS tup_deleted,
sum(conflicts) AS conflicts, sum(temp_files) AS temp_files, sum(temp_bytes) AS temp_bytes,
sum(deadlocks) AS deadlocks, sum(blk_read_time) AS blk_read_ms, sum(blk_write_time) AS blk_write_ms,
sum(numbackends) AS numbackends, coalesce(sum(checksum_failures), 0) AS checksum_failures,
coalesce(extract(epoch FROM clock_timestamp() - max(checksum_last_failure)), 0) AS checksum_failure_s,
sum(blks_read + blks_hit) FILTER (WHERE datname = current_database()) AS own_blocks"""

DATABASE_SESSIONS = """, sum(active_time) AS active_ms, sum(idle_in_transaction_time) AS idle_in_transaction_ms,
sum(sessions) AS sessions"""

PARALLEL = """, sum(parallel_workers_to_launch) AS parallel_workers_to_launch,
sum(parallel_workers_launched) AS parallel_workers_launched"""

EPOCH = "coalesce(max(stats_reset)::text, '') || '/' || count(*) AS epoch FROM pg_stat_database"
"""The number of databases is part of it: a dropped database takes its counters with it."""

DATABASE = Collector(
    "database",
    "pg_stat_database",
    {
        12: f"SELECT {DATABASE_SUMS}, {EPOCH}",
        14: f"SELECT {DATABASE_SUMS}{DATABASE_SESSIONS}, {EPOCH}",
        18: f"SELECT {DATABASE_SUMS}{DATABASE_SESSIONS}{PARALLEL}, {EPOCH}",
    },
    gauges=frozenset({"numbackends", "checksum_failures", "checksum_failure_s"}),
)


# pg_stat_io (16+): reads, writes and evictions, client backends apart from the rest.

IO_SUMS = """sum(reads) AS reads, sum(writes) AS writes, sum(extends) AS extends, sum(hits) AS hits,
sum(evictions) AS evictions, sum(reuses) AS reuses, sum(fsyncs) AS fsyncs, sum(writebacks) AS writebacks,
sum(read_time) AS read_ms, sum(write_time) AS write_ms, sum(fsync_time) AS fsync_ms,
sum(reads) FILTER (WHERE backend_type = 'client backend') AS client_reads,
sum(writes) FILTER (WHERE backend_type = 'client backend') AS client_writes,
sum(fsyncs) FILTER (WHERE backend_type = 'client backend') AS client_fsyncs,
sum(writes) FILTER (WHERE backend_type = 'client backend' AND object = 'relation' AND context = 'normal')
AS backend_writes,
sum(reads) FILTER (WHERE context = 'vacuum') AS vacuum_reads,
max(stats_reset) AS epoch"""

IO = Collector(
    "io",
    "pg_stat_io",
    {
        16: f"SELECT {IO_SUMS} FROM pg_stat_io",  # noqa: S608
        18: f"SELECT {IO_SUMS}, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes FROM pg_stat_io",  # noqa: S608
    },
)


# pg_locks: how many are held, how many are waited for.

LOCKS = Collector(
    "locks",
    "pg_locks",
    {
        12: """SELECT count(*) FILTER (WHERE granted) AS held, count(*) FILTER (WHERE NOT granted) AS waited_for
FROM pg_locks WHERE pid IS DISTINCT FROM pg_backend_pid()""",
    },
    gauges=None,
)


# pg_stat_replication and pg_replication_slots: the standbys, how far behind they are, and the log that slots hold.
#
# `behind_bytes` counts from the server's own end of the log, what was not sent yet included. `silent_s` is how long
# ago the most silent standby answered. Of slots, `invalid` ones serve no reader again, and `safe_bytes` may be
# written until the first one loses its log.

REPLICATION = Collector(
    "replication",
    "pg_stat_replication",
    {
        12: """SELECT count(*) AS standbys, count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) AS synchronous,
(current_setting('synchronous_standby_names') <> '')::int AS synchronous_wanted,
greatest(coalesce(max(pg_wal_lsn_diff(sent_lsn, replay_lsn)), 0), 0) AS replay_lag_bytes,
greatest(coalesce(max(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
ELSE pg_current_wal_lsn() END, replay_lsn)), 0), 0) AS behind_bytes,
greatest(coalesce(extract(epoch FROM clock_timestamp() - min(reply_time)), 0), 0) AS silent_s,
count(*) FILTER (WHERE sync_state = 'potential') AS potential,
coalesce(extract(epoch FROM max(replay_lag)), 0) AS lag_s FROM pg_stat_replication""",
    },
    gauges=None,
)

SLOTS_QUERY = """SELECT count(*) AS kept, count(*) FILTER (WHERE NOT active AND NOT {gone}) AS inactive,
count(*) FILTER (WHERE {gone}) AS lost, {safe},
min(slot_name) FILTER (WHERE {gone}) AS lost_name, (array_agg(slot_name ORDER BY restart_lsn)
FILTER (WHERE NOT active AND NOT {gone}))[1] AS inactive_name,
greatest(coalesce(max(pg_wal_lsn_diff(reached, restart_lsn)) FILTER (WHERE active), 0), 0) AS active_bytes,
greatest(coalesce(max(pg_wal_lsn_diff(reached, restart_lsn)) FILTER (WHERE NOT active), 0), 0) AS inactive_bytes,
greatest(coalesce(max(pg_wal_lsn_diff(reached, restart_lsn)), 0), 0) AS held_bytes FROM pg_replication_slots,
(SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS reached) log"""

SAFE = "count(*) FILTER (WHERE wal_status = 'unreserved') AS unreserved, min(safe_wal_size) AS safe_bytes"

SLOTS = Collector(
    "slots",
    "pg_replication_slots",
    {
        12: SLOTS_QUERY.format(gone="false", safe="0 AS unreserved"),
        13: SLOTS_QUERY.format(gone="coalesce(wal_status = 'lost', false)", safe=SAFE),
        16: SLOTS_QUERY.format(
            gone="(coalesce(wal_status = 'lost', false) OR coalesce(conflicting, false))", safe=SAFE
        ),
        17: SLOTS_QUERY.format(gone="(invalidation_reason IS NOT NULL)", safe=SAFE),
    },
    gauges=None,
    texts=frozenset({"lost_name", "inactive_name"}),
)


# pg_class of the agent's database: its size by the catalogue's own count, which costs no look at the disk.

SIZE = Collector(
    "size",
    "pg_class",
    {
        12: """SELECT sum(relpages::bigint) * current_setting('block_size')::int AS bytes, count(*) AS relations
FROM pg_class WHERE relkind IN ('r', 'i', 't', 'm')""",
    },
    gauges=None,
)


# pg_stat_slru (13+): the small caches for transaction states and their kin.

SLRU = Collector(
    "slru",
    "pg_stat_slru",
    {
        13: """SELECT sum(blks_zeroed) AS blks_zeroed, sum(blks_hit) AS blks_hit, sum(blks_read) AS blks_read,
sum(blks_written) AS blks_written, sum(flushes) AS flushes, sum(truncates) AS truncates, max(stats_reset) AS epoch
FROM pg_stat_slru""",
    },
)


# The readings of pg_stat_user_tables for the agent's database: scans, dead rows, vacuums.
#
# `behind` counts the tables with more than twice the dead rows at which autovacuum starts, except those whose owner
# set that for the table itself. `unanalyzed` counts those whose size the server does not know yet. `bare_rows` are
# rows that scans of whole tables read in large tables without an index, apart from their primary key, and
# `bare_share` is their share of all since the statistics began. The counters start again when the number of such
# tables changes. Temporary tables are left out: they come and go with their sessions. The collector calls the view's
# own functions, because the view joins the indexes of every table for each query.
#
# `off` counts the tables of the database for which autovacuum is switched off by their own storage parameter. Those
# of them that are past the dead rows at which it would come are `off_behind`: `off_dead_rows` in all, and `off_names`
# names the five with the most.

TABLES_SUMS = """SELECT sum(pg_stat_get_numscans(oid)) AS seq_scans, (SELECT sum(pg_stat_get_numscans(indexrelid))
FROM pg_index WHERE indrelid >= 16384) AS idx_scans, sum(pg_stat_get_tuples_hot_updated(oid)) AS hot_updates,
sum(seq_rows) AS seq_rows, sum(pg_stat_get_autovacuum_count(oid)) AS autovacuums,
sum(pg_stat_get_autoanalyze_count(oid)) AS autoanalyzes, sum(live) AS live_rows, sum(dead) AS dead_rows,
count(*) FILTER (WHERE live > 0 AND relpages = 0) AS unanalyzed,
count(*) FILTER (WHERE dead > 2 * ({threshold})
AND CASE WHEN reloptions IS NULL THEN true ELSE array_to_string(reloptions, ' ') NOT LIKE '%autovacuum%' END) AS behind,
coalesce(sum(seq_rows) FILTER (WHERE bare) / nullif(sum(seq_rows), 0), 0) AS bare_share,
coalesce(sum(seq_rows) FILTER (WHERE bare), 0) AS bare_rows,
concat(count(*), ' ', count(*) FILTER (WHERE bare)) AS epoch FROM (SELECT *, live >= 10000 AND NOT EXISTS
(SELECT FROM pg_index i WHERE i.indrelid = c.oid AND NOT i.indisprimary) AS bare
FROM (SELECT oid, relpages, reltuples, reloptions,
pg_stat_get_live_tuples(oid) AS live, pg_stat_get_dead_tuples(oid) AS dead, pg_stat_get_tuples_returned(oid) AS seq_rows
FROM pg_class WHERE relkind IN ('r', 'm') AND oid >= 16384 AND relpersistence <> 't' OFFSET 0) c OFFSET 0) every_one"""
THRESHOLD = """(SELECT current_setting('autovacuum_vacuum_threshold')::float8)
+ (SELECT current_setting('autovacuum_vacuum_scale_factor')::float8) * greatest(reltuples, 0)"""
BOUNDED = f"least({THRESHOLD}, nullif((SELECT current_setting('autovacuum_vacuum_max_threshold')::float8), -1))"
NAMED = 5
OFF = """SELECT count(*) AS off, count(*) FILTER (WHERE dead > due) AS off_behind,
coalesce(sum(dead) FILTER (WHERE dead > due), 0) AS off_dead_rows,
coalesce(string_agg(relid::regclass::text, ', ' ORDER BY place) FILTER (WHERE dead > due AND place <= {named}), '')
AS off_names FROM (SELECT *, row_number() OVER (ORDER BY dead > due DESC, dead DESC) AS place
FROM (SELECT c.oid AS relid, pg_stat_get_dead_tuples(c.oid) AS dead, {threshold} AS due FROM pg_class c
WHERE c.reloptions IS NOT NULL AND c.relkind IN ('r', 'm') AND c.relpersistence <> 't' AND
array_to_string(c.reloptions, ' ') ~* '(^| )autovacuum_enabled=(0|off?|no?|f(a(l(se?)?)?)?)( |$)') each) ranked"""

BOTH = "SELECT * FROM ({sums}) sums, ({off}) off"


def _tables_query(threshold: str) -> str:
    sums, off = TABLES_SUMS.format(threshold=threshold), OFF.format(threshold=threshold, named=NAMED)
    return BOTH.format(sums=sums, off=off)


TABLES = Collector(
    "tables",
    "pg_stat_user_tables",
    {12: _tables_query(THRESHOLD), 18: _tables_query(BOUNDED)},
    gauges=frozenset(
        {"live_rows", "dead_rows", "unanalyzed", "behind", "bare_share", "off", "off_behind", "off_dead_rows"}
    ),
    texts=frozenset({"off_names"}),
)


# How often an autovacuum worker went through its table's indexes before it was through the table; the oldest xid.
#
# And who keeps dead rows from being removed: how many transactions ago the oldest of each kind began. Those of
# sessions and of prepared transactions are of the agent's database: what another database's still read is not removed
# there. `server_xids` is the oldest of all. A vacuum and an autovacuum worker hold nothing of each other.

VACUUM = Collector(
    "vacuum",
    "pg_stat_progress_vacuum",
    {
        12: """SELECT (SELECT coalesce(max(p.index_vacuum_count), 0) FROM pg_stat_progress_vacuum p
JOIN pg_stat_activity a USING (pid) WHERE a.backend_type = 'autovacuum worker' AND p.phase = 'scanning heap')
AS index_passes, (SELECT max(age(datfrozenxid)) FROM pg_database) AS oldest_xid_age,
(SELECT max(mxid_age(datminmxid)) FROM pg_database) AS oldest_multixact_age""",
    },
    gauges=None,
)

HORIZON_SESSIONS = """SELECT coalesce(max(greatest(age(a.backend_xmin), age(a.backend_xid))), 0) FROM pg_stat_activity a
WHERE a.pid <> pg_backend_pid() AND a.backend_type NOT IN ('walsender', 'autovacuum worker')
AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum v WHERE v.pid = a.pid)"""
PREPARED = "SELECT coalesce(max(age(transaction)), 0) FROM pg_prepared_xacts"
HORIZON_SLOTS = "SELECT coalesce(max(age({xmin})), 0) FROM pg_replication_slots{kept}"
STANDBYS = "SELECT coalesce(max(age(backend_xmin)), 0) FROM pg_stat_replication"
HORIZON_QUERY = """SELECT xids, session_xids, prepared_xids, prepared_s, slot_xids, slot_catalog_xids, standby_xids,
greatest(any_session, any_prepared, slot_xids, slot_catalog_xids, standby_xids) AS server_xids
FROM (SELECT txid_snapshot_xmax(txid_current_snapshot()) AS xids, ({sessions}) AS any_session,
({sessions} AND a.datname = current_database()) AS session_xids, ({prepared}) AS any_prepared,
({prepared} WHERE database = current_database()) AS prepared_xids,
(SELECT coalesce(extract(epoch FROM clock_timestamp() - min(prepared)), 0) FROM pg_prepared_xacts
WHERE database = current_database()) AS prepared_s,
({slots}) AS slot_xids, ({catalogs}) AS slot_catalog_xids, ({standbys}) AS standby_xids) held"""


def _horizon_query(kept: str) -> str:
    slots, catalogs = (HORIZON_SLOTS.format(xmin=xmin, kept=kept) for xmin in ("xmin", "catalog_xmin"))
    return HORIZON_QUERY.format(
        sessions=HORIZON_SESSIONS, prepared=PREPARED, slots=slots, catalogs=catalogs, standbys=STANDBYS
    )


HORIZON = Collector(
    "horizon",
    "pg_stat_activity, pg_prepared_xacts and pg_replication_slots, by xmin",
    {12: _horizon_query(""), 13: _horizon_query(" WHERE wal_status IS DISTINCT FROM 'lost'")},
    gauges=frozenset(
        {
            "session_xids",
            "prepared_xids",
            "prepared_s",
            "slot_xids",
            "slot_catalog_xids",
            "standby_xids",
            "server_xids",
        }
    ),
)


# pg_stat_wal since PostgreSQL 14; before it, the write-ahead log's position is all there is.

RECORDS = "wal_records AS records, wal_fpi AS full_page_images, wal_bytes AS bytes, wal_buffers_full AS buffers_full"

WAL = Collector(
    "wal",
    "pg_stat_wal",
    {
        12: """SELECT CASE WHEN pg_is_in_recovery() THEN NULL
ELSE pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') END AS bytes""",
        14: f"""SELECT {RECORDS}, wal_write AS writes, wal_sync AS syncs, wal_write_time AS write_ms,
wal_sync_time AS sync_ms, stats_reset AS epoch FROM pg_stat_wal""",  # noqa: S608
        18: f"SELECT {RECORDS}, stats_reset AS epoch FROM pg_stat_wal",  # noqa: S608
    },
)


# pg_stat_activity: how many autovacuum workers run, how many of them pause, and how many parallel workers run.

WORKERS = Collector(
    "workers",
    "pg_stat_activity of workers",
    {
        12: """SELECT count(*) FILTER (WHERE backend_type = 'autovacuum worker') AS vacuuming,
count(*) FILTER (WHERE backend_type = 'autovacuum worker' AND wait_event = 'VacuumDelay') AS vacuum_delayed,
count(*) FILTER (WHERE backend_type = 'parallel worker') AS parallel
FROM pg_stat_activity WHERE backend_type IN ('autovacuum worker', 'parallel worker')""",
    },
    gauges=None,
)


COLLECTORS = (
    DATABASE,
    BGWRITER,
    CHECKPOINTER,
    WAL,
    IO,
    SLRU,
    ARCHIVER,
    WAITING,
    ACTIVITY,
    LOCKS,
    REPLICATION,
    SLOTS,
    TABLES,
    WORKERS,
    VACUUM,
    HORIZON,
    SIZE,
)
