"""The catalogue of the agent's database: its rate of change, and its empty or dead share.

`attributes` counts rows of pg_attribute that were written or deleted: a table made and dropped does both for each of
its columns. A catalogue is `bloated` if it has more dead rows than live ones, and at least 10,000, or if it has 100 MB
and a kilobyte for each live row. Catalogues with large values are left out.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

QUERY = """SELECT (SELECT pg_stat_get_tuples_inserted(a) + pg_stat_get_tuples_updated(a) + pg_stat_get_tuples_deleted(a)
FROM (SELECT 'pg_catalog.pg_attribute'::regclass::oid AS a) one) AS attributes, count(*) AS bloated,
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
    {12: QUERY},
    gauges=frozenset({"bloated", "bloated_bytes", "bloated_dead"}),
    texts=frozenset({"names"}),
)
