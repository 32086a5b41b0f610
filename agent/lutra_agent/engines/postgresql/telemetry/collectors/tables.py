"""pg_stat_user_tables of the agent's database: scans, dead rows, vacuums.

`behind` counts the tables with more than twice the dead rows at which autovacuum comes, those left out whose owner set
that for the table itself; `unanalyzed` those whose size the server does not know yet. `bare_share` is the share of all
rows read by scans of whole tables that large tables without an index have, their primary key aside. Temporary tables
are left out: they come and go with their sessions.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

SUMS = """SELECT sum(s.seq_scan) AS seq_scans, sum(s.idx_scan) AS idx_scans, sum(s.n_tup_hot_upd) AS hot_updates,
sum(s.seq_tup_read) AS seq_rows, sum(s.autovacuum_count) AS autovacuums, sum(s.autoanalyze_count) AS autoanalyzes,
sum(s.n_live_tup) AS live_rows, sum(s.n_dead_tup) AS dead_rows,
count(*) FILTER (WHERE s.n_live_tup > 0 AND c.relpages = 0) AS unanalyzed,
count(*) FILTER (WHERE s.n_dead_tup > 2 * ({threshold})
AND coalesce(array_to_string(c.reloptions, ' '), '') NOT LIKE '%autovacuum%') AS behind,
coalesce(sum(s.seq_tup_read) FILTER (WHERE s.n_live_tup >= 10000 AND NOT EXISTS
(SELECT FROM pg_index i WHERE i.indrelid = s.relid AND NOT i.indisprimary)) / nullif(sum(s.seq_tup_read), 0), 0)
AS bare_share, count(*) AS epoch FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
WHERE c.relpersistence <> 't'"""
THRESHOLD = """current_setting('autovacuum_vacuum_threshold')::float8
+ current_setting('autovacuum_vacuum_scale_factor')::float8 * greatest(c.reltuples, 0)"""
BOUNDED = f"least({THRESHOLD}, nullif(current_setting('autovacuum_vacuum_max_threshold')::float8, -1))"

TABLES = Collector(
    "tables",
    "pg_stat_user_tables",
    {12: SUMS.format(threshold=THRESHOLD), 18: SUMS.format(threshold=BOUNDED)},
    gauges=frozenset({"live_rows", "dead_rows", "unanalyzed", "behind", "bare_share"}),
)
