"""The traces of autovacuum, indexes, sequences and roles, from the catalogue and its counters."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

BLOAT_QUERY = """WITH block AS (SELECT current_setting('block_size')::float8 AS size),
widths AS MATERIALIZED (SELECT c.oid, c.relpages, c.reltuples, c.reloptions, w.attname, w.width
FROM (SELECT oid, relname, relnamespace, relpages, reltuples, reloptions FROM pg_class WHERE relkind IN ('r', 'm')
AND oid >= 16384 AND relpersistence <> 't' AND reltuples > 0 ORDER BY relpages DESC LIMIT 30) c
JOIN pg_namespace n ON n.oid = c.relnamespace,
LATERAL (SELECT attname, (1 - null_frac) * avg_width AS width FROM pg_stats
WHERE schemaname = n.nspname AND tablename = c.relname OFFSET 0) w),
heaps AS (SELECT oid, relpages * size AS bytes, reltuples * (36 + sum(width))
* 100 / coalesce(substring(array_to_string(reloptions, ' ') FROM 'fillfactor=(\\d+)')::float8, 100) AS needed
FROM widths, block GROUP BY oid, relpages, reltuples, reloptions, size),
entries AS (SELECT i.indexrelid AS oid, i.relpages * size AS bytes,
i.reltuples * (16 + sum(w.width)) * 100 / 70 AS needed
FROM (SELECT x.indexrelid, x.indrelid, c.relpages, c.reltuples FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
WHERE c.relkind = 'i' AND c.relam = 403 AND c.reltuples > 0 AND x.indrelid IN (SELECT oid FROM widths)
AND x.indexprs IS NULL ORDER BY c.relpages DESC LIMIT 60) i
JOIN pg_attribute a ON a.attrelid = i.indexrelid
JOIN widths w ON w.oid = i.indrelid AND w.attname = a.attname, block
GROUP BY i.indexrelid, i.relpages, i.reltuples, size)
SELECT (SELECT count(*) FROM heaps WHERE bytes > 2 * needed AND bytes - needed >= 4194304) AS tables,
(SELECT coalesce(sum(bytes - needed), 0) FROM heaps WHERE bytes > 2 * needed AND bytes - needed >= 4194304)
AS table_bytes,
(SELECT CASE WHEN count(*) > 0 THEN sum(bytes) END FROM heaps) AS tables_seen_bytes,
(SELECT count(*) FROM entries WHERE bytes > 3 * needed AND bytes - needed >= 4194304) AS indexes,
(SELECT coalesce(sum(bytes - needed), 0) FROM entries WHERE bytes > 3 * needed AND bytes - needed >= 4194304)
AS index_bytes,
(SELECT string_agg(oid::regclass::text, ', ')
FROM (SELECT oid FROM heaps WHERE bytes > 2 * needed ORDER BY bytes - needed DESC LIMIT 3) worst) AS table_name,
(SELECT string_agg(oid::regclass::text, ', ')
FROM (SELECT oid FROM entries WHERE bytes > 3 * needed ORDER BY bytes - needed DESC LIMIT 3) worst)
AS index_name"""

BLOAT = Collector(
    "bloat",
    "pg_stats",
    {12: BLOAT_QUERY},
    gauges=None,
    texts=frozenset({"table_name", "index_name"}),
    every_s=60.0,
)
"""An estimate of empty space from pg_class and pg_stats: the largest 30 tables and 60 B-tree indexes are examined.

The expected size of rows and entries is computed from their number and the mean width of their columns; nothing is read
from the tables. An account that may not read a table does not see the width of its columns, so the table is left out.
"""


CATALOGS_QUERY = """SELECT (SELECT pg_stat_get_tuples_inserted(a) + pg_stat_get_tuples_updated(a) +
pg_stat_get_tuples_deleted(a) FROM (SELECT 'pg_catalog.pg_attribute'::regclass::oid AS a) one) AS attributes,
count(*) AS bloated,
coalesce(sum(bytes), 0) AS bloated_bytes, coalesce(sum(dead), 0) AS bloated_dead,
string_agg(relname, ', ' ORDER BY bytes DESC) AS names
FROM (SELECT relname::text, relpages::bigint * current_setting('block_size')::int AS bytes,
pg_stat_get_live_tuples(oid) AS live, pg_stat_get_dead_tuples(oid) AS dead FROM pg_class
WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r' AND relname NOT IN ('pg_largeobject', 'pg_statistic',
'pg_statistic_ext_data', 'pg_rewrite', 'pg_proc')) c
WHERE dead >= 10000 AND dead > live OR live > 0 AND bytes >= 104857600 AND bytes > 1024 * live"""

CATALOGS = Collector(
    "catalogs",
    "pg_stat_sys_tables",
    {12: CATALOGS_QUERY},
    gauges=frozenset({"bloated", "bloated_bytes", "bloated_dead"}),
    texts=frozenset({"names"}),
)
"""The catalogue of the agent's database: its rate of change, and its empty or dead share.

`attributes` counts rows of pg_attribute that were written or deleted: a table made and dropped does both for each of
its columns. A catalogue is `bloated` if it has more dead rows than live ones, and at least 10,000, or if it has 100 MB
and a kilobyte for each live row. Catalogues with large values are left out.
"""


ANALYZED = "coalesce(pg_stat_get_last_analyze_time(oid), pg_stat_get_last_autoanalyze_time(oid)) IS NOT NULL"
ANALYZED_BEFORE = """greatest(pg_stat_get_last_analyze_time(oid), pg_stat_get_last_autoanalyze_time(oid))
< clock_timestamp() - interval '90 seconds'"""
OFF = "autovacuum_enabled=(0|f|n|of)"
LATE = "own AND NOT off AND dead >= 10000 AND dead > 2 * threshold"
STALE = f"CASE WHEN changed > greatest(10000, 0.5 * greatest(reltuples, 0)) THEN {ANALYZED_BEFORE} END"
NEVER = f"CASE WHEN live >= 10000 AND changed >= 0.5 * live THEN NOT ({ANALYZED}) END"
LINKED = """CASE WHEN relpersistence = 'u' AND live > 0 THEN oid IN (SELECT conrelid FROM pg_constraint
WHERE contype = 'f' UNION ALL SELECT confrelid FROM pg_constraint WHERE contype = 'f') END"""
WORST = "array_to_string((array_agg(oid::regclass::text ORDER BY {by} DESC) FILTER (WHERE {kind}))[1:3], ', ')"
HOUSEKEEPING_QUERY = f"""SELECT count(*) FILTER (WHERE {LATE}) AS own_late, {WORST.format(by="dead", kind=LATE)}
AS own_late_name, coalesce(sum(dead) FILTER (WHERE own AND NOT off AND dead > 2 * threshold), 0) AS own_late_dead,
count(*) FILTER (WHERE {STALE}) AS stale, {WORST.format(by="changed", kind=STALE)} AS stale_name,
count(*) FILTER (WHERE {NEVER}) AS never_analyzed, {WORST.format(by="live", kind=NEVER)} AS never_analyzed_name,
count(*) FILTER (WHERE relpersistence = 'u' AND live > 0) AS unlogged,
{WORST.format(by="live", kind="relpersistence = 'u' AND live > 0")} AS unlogged_name,
count(*) FILTER (WHERE {LINKED}) AS unlogged_linked, {WORST.format(by="live", kind=LINKED)} AS unlogged_linked_name,
coalesce(sum(live) FILTER (WHERE relpersistence = 'u'), 0) AS unlogged_rows,
coalesce(max(live), 0) AS largest_rows
FROM (SELECT oid, reltuples, relpersistence, pg_stat_get_live_tuples(oid) AS live, pg_stat_get_dead_tuples(oid) AS dead,
pg_stat_get_mod_since_analyze(oid) AS changed, 50 + 0.2 * greatest(reltuples, 0) AS threshold,
CASE WHEN reloptions IS NULL THEN false ELSE array_to_string(reloptions, ' ') ~* '{OFF}' END AS off,
CASE WHEN reloptions IS NULL THEN false
ELSE array_to_string(reloptions, ' ') ~ 'autovacuum_vacuum_(threshold|scale_factor|max_threshold)=' END AS own
FROM pg_class WHERE relkind IN ('r', 'm') AND oid >= 16384 AND relpersistence <> 't' OFFSET 0) t"""  # noqa: S608

HOUSEKEEPING = Collector(
    "housekeeping",
    "pg_stat_user_tables by what autovacuum leaves",
    {12: HOUSEKEEPING_QUERY},
    gauges=None,
    texts=frozenset({"own_late_name", "stale_name", "never_analyzed_name", "unlogged_name", "unlogged_linked_name"}),
    every_s=60.0,
)
"""The readings of pg_stat_user_tables for the agent's database: tables that autovacuum leaves out, and old statistics.

A table has `stale` statistics where more than half of its rows, and 10,000, were changed since it was analyzed, which
was before the last minute and a half: a session counts what it changed up to a minute later;
`never_analyzed` are those of 10,000 rows and more with none. `own_late` have thresholds of their own and twice the dead
rows at which autovacuum would otherwise come. `unlogged_linked` are unlogged tables with rows that a foreign key
belongs to, or refers to. Of each kind the worst three tables are named.
"""


INDEXES_QUERY = """WITH tables AS MATERIALIZED (SELECT oid, pg_stat_get_numscans(oid) AS scans,
pg_stat_get_tuples_returned(oid) AS rows FROM pg_class
WHERE relkind IN ('r', 'm') AND oid >= 16384 AND pg_stat_get_live_tuples(oid) >= 10000),
used AS MATERIALIZED (SELECT t.oid, sum(pg_stat_get_numscans(i.indexrelid)) AS scans
FROM tables t JOIN pg_index i ON i.indrelid = t.oid GROUP BY t.oid),
scanned AS MATERIALIZED (SELECT t.*, u.scans > t.scans AS used, EXISTS (SELECT FROM pg_constraint f
WHERE f.conrelid = t.oid AND f.contype = 'f' AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = t.oid
AND i.indisvalid AND i.indpred IS NULL AND (i.indkey::int2[])[0:cardinality(f.conkey) - 1] @> f.conkey)) AS bare
FROM tables t LEFT JOIN used u USING (oid) WHERE t.scans > 0 AND t.rows >= 2500 * t.scans),
alike AS MATERIALIZED (SELECT indrelid, indkey::text AS columns FROM pg_index WHERE indrelid >= 16384
GROUP BY indrelid, indkey::text HAVING count(*) > 1),
twice AS (SELECT count(*) AS n, sum(c.relpages) AS pages, max(c.relpages) AS largest,
string_agg(i.indexrelid::regclass::text, ' = ' ORDER BY i.indexrelid) AS names
FROM alike a JOIN pg_index i ON i.indrelid = a.indrelid AND i.indkey::text = a.columns
JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relkind = 'i' AND i.indisvalid GROUP BY i.indrelid, i.indkey::text,
i.indclass, i.indcollation, i.indoption::text, c.relam, i.indexprs::text, i.indpred::text HAVING count(*) > 1),
idle AS (SELECT c.relpages, c.oid FROM tables t JOIN used u USING (oid) JOIN pg_index i ON i.indrelid = t.oid
JOIN pg_class c ON c.oid = i.indexrelid WHERE u.scans >= 100 AND pg_stat_get_tuples_inserted(t.oid)
+ pg_stat_get_tuples_updated(t.oid) + pg_stat_get_tuples_deleted(t.oid) >= 10000
AND pg_stat_get_numscans(i.indexrelid) = 0 AND i.indisvalid AND NOT i.indisunique AND NOT i.indisexclusion),
invalid AS MATERIALIZED (SELECT c.oid, c.relpages FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE NOT i.indisvalid AND c.relkind = 'i' AND i.indrelid >= 16384
AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.relid = i.indrelid)),
whole AS (SELECT nullif(sum(pg_stat_get_tuples_returned(oid)), 0) AS rows FROM pg_class
WHERE relkind IN ('r', 'm') AND oid >= 16384)
SELECT (SELECT count(*) FROM invalid) AS invalid,
(SELECT string_agg(oid::regclass::text, ', ')
FROM (SELECT oid FROM invalid ORDER BY relpages DESC LIMIT 3) worst) AS invalid_name,
(SELECT string_agg(names, ', ')
FROM (SELECT names FROM twice ORDER BY pages - largest DESC LIMIT 3) worst) AS duplicate_name,
(SELECT string_agg(oid::regclass::text, ', ')
FROM (SELECT oid FROM idle ORDER BY relpages DESC LIMIT 3) worst) AS unused_name,
(SELECT string_agg(oid::regclass::text, ', ')
FROM (SELECT oid FROM scanned WHERE bare ORDER BY rows DESC LIMIT 3) worst) AS foreign_key_name,
(SELECT string_agg(oid::regclass::text, ', ')
FROM (SELECT oid FROM scanned WHERE used ORDER BY rows DESC LIMIT 3) worst) AS used_name,
(SELECT coalesce(sum(n - 1), 0) FROM twice) AS duplicates,
(SELECT coalesce(sum(pages - largest), 0) FROM twice) * current_setting('block_size')::int AS duplicate_bytes,
(SELECT count(*) FROM idle) AS unused,
(SELECT coalesce(sum(relpages::bigint), 0) FROM idle) * current_setting('block_size')::int AS unused_bytes,
coalesce((SELECT sum(scans) FROM scanned), 0) AS large_scans,
coalesce((SELECT max(rows / scans) FROM scanned), 0) AS rows_a_scan,
(SELECT count(*) FROM scanned WHERE bare) AS foreign_keys,
coalesce((SELECT sum(rows) FROM scanned WHERE bare) / (SELECT rows FROM whole), 0) AS foreign_key_share,
coalesce((SELECT sum(rows) FROM scanned WHERE used) / (SELECT rows FROM whole), 0) AS used_share,
coalesce((SELECT sum(rows) FROM scanned WHERE bare), 0) AS foreign_key_rows,
coalesce((SELECT sum(rows) FROM scanned WHERE used), 0) AS used_rows,
(SELECT concat_ws(' ', count(*), count(*) FILTER (WHERE bare), count(*) FILTER (WHERE used)) FROM scanned) AS epoch"""

INDEXES = Collector(
    "indexes",
    "pg_index",
    {12: INDEXES_QUERY},
    gauges=frozenset(
        {
            "invalid",
            "duplicates",
            "duplicate_bytes",
            "unused",
            "unused_bytes",
            "rows_a_scan",
            "foreign_keys",
            "foreign_key_share",
            "used_share",
        }
    ),
    texts=frozenset({"invalid_name", "duplicate_name", "unused_name", "foreign_key_name", "used_name"}),
    every_s=60.0,
)
"""pg_index of the agent's database: indexes that are invalid, double or unused, and scans that miss one.

A table is large from 10,000 rows on. Both shares are since the statistics began. `foreign_key_share` is the share of
rows read by scans of whole large tables with a foreign key that begins no index, among all such rows. `used_share` is
that of large tables whose indexes are used more often than the table is scanned as a whole. `foreign_key_rows` and
`used_rows` count these rows, and start again when the number of such tables changes. `rows_a_scan` is of the table
whose scans read most. `unused` indexes are of tables that are read by other indexes and written. Of each kind the three
largest, or most read, are named.
"""


IN_SCHEMA = """ OR EXISTS (SELECT FROM pg_publication_namespace n JOIN pg_publication p ON p.oid = n.pnpubid
WHERE n.pnnspid = c.relnamespace AND (p.pubupdate OR p.pubdelete))"""
INTEGRITY_QUERY = """WITH bare AS MATERIALIZED (SELECT c.oid, c.relnamespace, c.relreplident,
pg_stat_get_live_tuples(c.oid) AS live FROM pg_class c WHERE c.relkind = 'r' AND c.oid >= 16384
AND c.relpersistence = 'p' AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)),
nameless AS MATERIALIZED (SELECT oid, relnamespace FROM bare WHERE relreplident = 'd'
UNION ALL SELECT oid, relnamespace FROM pg_class WHERE relreplident = 'n' AND relkind = 'r' AND oid >= 16384),
unidentified AS (SELECT c.oid FROM nameless c WHERE EXISTS (SELECT FROM pg_publication
WHERE puballtables AND (pubupdate OR pubdelete)) OR EXISTS (SELECT FROM pg_publication_rel r
JOIN pg_publication p ON p.oid = r.prpubid WHERE r.prrelid = c.oid AND (p.pubupdate OR p.pubdelete)){in_schema})
SELECT t.*, (SELECT count(*) FROM pg_constraint WHERE NOT convalidated AND contype IN ('c', 'f')) AS not_valid,
(SELECT conrelid::regclass || ' ' || conname FROM pg_constraint WHERE NOT convalidated AND contype IN ('c', 'f')
ORDER BY conname LIMIT 1) AS not_valid_name,
(SELECT count(*) FROM bare WHERE live >= 10000) AS without_key,
(SELECT string_agg(oid::regclass::text, ', ')
FROM (SELECT oid FROM bare WHERE live >= 10000 ORDER BY live DESC LIMIT 3) worst) AS without_key_name,
(SELECT count(*) FROM unidentified) AS unidentified,
(SELECT min(oid::regclass::text) FROM unidentified) AS unidentified_name
FROM (SELECT count(DISTINCT tgrelid) FILTER (WHERE tgisinternal AND tgconstraint <> 0) AS unchecked,
count(*) FILTER (WHERE NOT tgisinternal) AS triggers_off,
min(tgrelid::regclass || ' ' || tgname) FILTER (WHERE NOT tgisinternal) AS triggers_off_name,
min(tgrelid::regclass::text) FILTER (WHERE tgisinternal AND tgconstraint <> 0) AS unchecked_name
FROM pg_trigger WHERE tgenabled = 'D') t"""

INTEGRITY = Collector(
    "integrity",
    "pg_trigger, pg_constraint and pg_publication",
    {12: INTEGRITY_QUERY.format(in_schema=""), 15: INTEGRITY_QUERY.format(in_schema=IN_SCHEMA)},
    gauges=None,
    texts=frozenset({"unidentified_name", "unchecked_name", "not_valid_name", "without_key_name", "triggers_off_name"}),
    every_s=60.0,
)
"""The integrity of rows in the agent's database: triggers that are off, constraints that were never checked, keys.

`unchecked` are tables whose foreign keys are not checked, because their own triggers are off. `unidentified` are tables
in a publication of updates or deletes that have nothing to identify a row: the server refuses both.
"""


ODD = """(name = 'random_page_cost' AND NOT number BETWEEN 0.5 AND 20)
OR (name = 'seq_page_cost' AND NOT number BETWEEN 0.05 AND 10)
OR (name = 'cpu_tuple_cost' AND NOT number BETWEEN 0.0005 AND 0.2)
OR (name = 'cpu_index_tuple_cost' AND NOT number BETWEEN 0.00025 AND 0.1)
OR (name = 'cpu_operator_cost' AND NOT number BETWEEN 0.000125 AND 0.05)
OR (name = 'parallel_setup_cost' AND NOT number BETWEEN 10 AND 100000)
OR (name = 'parallel_tuple_cost' AND NOT number BETWEEN 0.001 AND 10)
OR (name IN ('from_collapse_limit', 'join_collapse_limit') AND NOT number BETWEEN 3 AND 24)
OR (name = 'default_statistics_target' AND NOT number BETWEEN 20 AND 2000)
OR (name = 'cursor_tuple_fraction' AND number < 0.01) OR (name = 'jit_above_cost' AND number BETWEEN 0 AND 1000)
OR (name = 'effective_cache_size' AND bytes < 33554432)
OR (name = 'plan_cache_mode' AND value <> 'auto') OR (name = 'constraint_exclusion' AND value <> 'partition')
OR (name IN ('force_parallel_mode', 'debug_parallel_query') AND value <> 'off')"""

SWITCHED_OFF = """name LIKE 'enable\\_%' AND name NOT LIKE '%partitionwise%'
AND value IN ('off', 'false', 'no', '0')"""
WHOSE = """concat_ws(' in ', CASE WHEN setrole <> 0 THEN (SELECT 'role ' || quote_ident(rolname) FROM pg_roles
WHERE oid = setrole) END, CASE WHEN setdatabase <> 0 THEN (SELECT 'database ' || quote_ident(datname)
FROM pg_database WHERE oid = setdatabase) END)"""
"""Empty for the settings of all roles."""

ROLE_SETTINGS_QUERY = f"""SELECT count(*) AS kept,
count(*) FILTER (WHERE {SWITCHED_OFF}) AS switches_off,
string_agg(concat(whose, ': ', name, ' = ', value), '; ' ORDER BY whose, name)
FILTER (WHERE {SWITCHED_OFF} OR {ODD}) AS plan_names,
count(*) FILTER (WHERE {ODD}) AS odd,
coalesce(min(bytes) FILTER (WHERE name = 'work_mem'), 0) AS least_work_mem,
coalesce(max(bytes) FILTER (WHERE name = 'work_mem'), 0) AS most_work_mem,
coalesce(min(ms) FILTER (WHERE ms > 0 AND name IN ('statement_timeout', 'transaction_timeout')), 0) AS statement_ms,
coalesce(min(ms) FILTER (WHERE ms > 0 AND name = 'lock_timeout'), 0) AS lock_ms,
coalesce(min(ms) FILTER (WHERE ms > 0 AND name IN ('idle_session_timeout', 'idle_in_transaction_session_timeout')), 0)
AS idle_ms,
count(*) FILTER (WHERE (name = 'log_statement' AND value IN ('all', 'mod'))
OR (name = 'log_min_duration_statement' AND ms BETWEEN 0 AND 5) OR (name = 'log_duration' AND value IN ('on', 'true'))
OR (name = 'auto_explain.log_min_duration' AND ms BETWEEN 0 AND 5)) AS logged,
count(*) FILTER (WHERE name = 'synchronous_commit' AND value IN ('off', 'false', 'no', '0')) AS commits_not_safe
FROM (SELECT name, value, coalesce(nullif({WHOSE}, ''), 'all roles') AS whose,
CASE WHEN value ~ '^-?[0-9]*[.]?[0-9]+(e-?[0-9]+)?$' THEN value::float8 END AS number,
CASE WHEN value ~ '^[0-9]+$' THEN value::float8 * CASE name WHEN 'effective_cache_size'
THEN current_setting('block_size')::int ELSE 1024 END
WHEN value ~ '^[0-9]+ *(kb|mb|gb|tb)$' THEN pg_size_bytes(value)::float8 END AS bytes,
CASE WHEN value ~ '^[0-9]+$' THEN value::float8
WHEN value ~ '^[0-9.]+ *(us|ms|s|min|h|d)$' THEN 1000 * extract(epoch FROM value::interval) END AS ms
FROM (SELECT setrole, setdatabase, lower(split_part(entry, '=', 1)) AS name,
lower(btrim(substr(entry, strpos(entry, '=') + 1))) AS value
FROM pg_db_role_setting s, unnest(s.setconfig) entry) e) v"""  # noqa: S608

ROLE_SETTINGS = Collector(
    "role_settings",
    "pg_db_role_setting",
    {12: ROLE_SETTINGS_QUERY},
    gauges=None,
    texts=frozenset({"plan_names"}),
    every_s=60.0,
)
"""pg_db_role_setting: settings of a role or a database, which hide the server's values from its sessions.

It counts planner switches that are off, costs and limits far from any useful value, and statements that are all logged.
Sizes are in bytes and times in milliseconds; a value that no role has is 0.
"""


MAY = "has_sequence_privilege(seqrelid, 'USAGE, SELECT')"
ENDS = """CASE t.typname WHEN 'int2' THEN 32767 WHEN 'int4' THEN 2147483647 ELSE q.seqmax END"""
SEQUENCES = Collector(
    "sequences",
    "pg_sequence",
    {
        12: f"""SELECT CASE WHEN max(used) >= 0.5 OR bool_and(may) IS NOT FALSE THEN coalesce(max(used), 0) END
AS used_share, count(*) FILTER (WHERE used >= 0.5) AS half_used,
(array_agg(seqrelid::regclass::text ORDER BY used DESC) FILTER (WHERE used >= 0.5))[1] AS fullest_name
FROM (SELECT may, q.seqrelid, CASE WHEN may
THEN pg_sequence_last_value(q.seqrelid) / least(q.seqmax, {ENDS})::float8 END AS used
FROM (SELECT oid FROM pg_class WHERE relkind IN ('r', 'p') AND oid >= 16384
ORDER BY greatest(reltuples, pg_stat_get_tuples_inserted(oid)) DESC LIMIT 50) c,
LATERAL (SELECT objid, refobjsubid FROM pg_depend WHERE refclassid = 'pg_class'::regclass AND refobjid = c.oid
AND classid = 'pg_class'::regclass AND deptype IN ('a', 'i') AND refobjsubid > 0 OFFSET 0) d,
LATERAL (SELECT *, {MAY} AS may FROM pg_sequence WHERE seqrelid = d.objid OFFSET 0) q,
LATERAL (SELECT t.typname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = c.oid AND a.attnum = d.refobjsubid OFFSET 0) t
WHERE q.seqincrement > 0 AND NOT q.seqcycle AND q.seqrelid <> ALL (ARRAY(SELECT l.relation FROM pg_locks l
WHERE l.relation IS NOT NULL
AND l.mode IN ('ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')))) every_one""",  # noqa: S608
    },
    gauges=None,
    texts=frozenset({"fullest_name"}),
    right=f"NOT EXISTS (SELECT FROM pg_sequence) OR EXISTS (SELECT FROM pg_sequence WHERE {MAY})",  # noqa: S608
    grant="GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO {account};",
    every_s=60.0,
)
"""Sequences that belong to a column of the agent's database: the used share of the one that is nearest its end.

The end is the sequence's, or that of the column's type if it comes first. The 50 whose tables have most rows, or that
have used most numbers, are examined. One that a statement is changing is left out, so that no session waits for it. If
the account may not read some of them, and none of the others is half used, the share is unknown.
"""


QUERY = """WITH written AS MATERIALIZED (SELECT oid, pg_stat_get_tuples_updated(oid) AS updated,
pg_stat_get_tuples_hot_updated(oid) AS hot, relhasindex FROM pg_class
WHERE relkind = 'r' AND oid >= 16384 AND relpersistence <> 't' OFFSET 0),
coldest AS MATERIALIZED (SELECT oid, updated, hot FROM written WHERE relhasindex AND updated > 0
ORDER BY updated - hot DESC LIMIT 1),
seldom AS MATERIALIZED (SELECT i.indexrelid, pg_stat_get_numscans(i.indexrelid) AS scans FROM coldest
JOIN pg_index i ON i.indrelid = oid WHERE i.indisvalid AND NOT i.indisunique AND NOT i.indisexclusion
AND 100 * pg_stat_get_numscans(i.indexrelid) < updated)
SELECT coalesce((SELECT sum(updated) FROM written), 0) AS updated_all, coalesce(max(updated), 0) AS updated,
coalesce(max(hot), 0) AS hot, {new_page} max(oid::regclass::text) AS name, max(oid::text) AS epoch,
coalesce(max(updated / greatest(pg_stat_get_live_tuples(oid), 1)), 0) AS times, (SELECT count(*) FROM seldom) AS seldom,
(SELECT indexrelid::regclass::text FROM seldom ORDER BY scans, indexrelid LIMIT 1) AS seldom_name FROM coldest"""
NEW_PAGE = "coalesce(max(pg_stat_get_tuples_newpage_updated(oid)), 0) AS new_page,"

UPDATES = Collector(
    "updates",
    "pg_stat_user_tables by updates that are not HOT",
    {12: QUERY.format(new_page=""), 16: QUERY.format(new_page=NEW_PAGE)},
    gauges=frozenset({"times", "seldom"}),
    texts=frozenset({"name", "seldom_name"}),
)
"""The table whose updates wrote most to its indexes since the statistics began: those that were not HOT.

An update is HOT if no indexed column changes and the page has room for the new row; any other one writes to every index
of the table. `new_page` are the updates that found no room (16+). `seldom` are valid, non-unique indexes of the table
with less than one scan per hundred updates, and `seldom_name` is the one with the fewest scans. If a different table
comes first, the counters start again. `updated_all` are the updates of all tables.
"""


UPKEEP = (BLOAT, CATALOGS, HOUSEKEEPING, INDEXES, INTEGRITY, ROLE_SETTINGS, SEQUENCES, UPDATES)
