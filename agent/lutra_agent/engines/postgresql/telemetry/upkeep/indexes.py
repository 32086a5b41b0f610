"""pg_index of the agent's database: indexes that are invalid, double or unused, and scans that miss one.

A table is large from 10,000 rows on. Both shares are since the statistics began. `foreign_key_share` is the share of
rows read by scans of whole large tables with a foreign key that begins no index, among all such rows. `used_share` is
that of large tables whose indexes are used more often than the table is scanned as a whole. `foreign_key_rows` and
`used_rows` count these rows, and start again when the number of such tables changes. `rows_a_scan` is of the table
whose scans read most. `unused` indexes are of tables that are read by other indexes and written. Of each kind the three
largest, or most read, are named.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

QUERY = """WITH tables AS MATERIALIZED (SELECT oid, pg_stat_get_numscans(oid) AS scans,
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
    {12: QUERY},
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
