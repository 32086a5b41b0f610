"""An estimate of empty space from pg_class and pg_stats: the largest 30 tables and 60 B-tree indexes are examined.

The expected size of rows and entries is computed from their number and the mean width of their columns; nothing is read
from the tables. An account that may not read a table does not see the width of its columns, so the table is left out.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

QUERY = """WITH block AS (SELECT current_setting('block_size')::float8 AS size),
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
    {12: QUERY},
    gauges=None,
    texts=frozenset({"table_name", "index_name"}),
    every_s=60.0,
)
