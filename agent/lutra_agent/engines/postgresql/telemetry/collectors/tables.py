"""The readings of pg_stat_user_tables for the agent's database: scans, dead rows, vacuums.

`behind` counts the tables with more than twice the dead rows at which autovacuum starts, except those whose owner set
that for the table itself. `unanalyzed` counts those whose size the server does not know yet. `bare_rows` are rows that
scans of whole tables read in large tables without an index, apart from their primary key, and `bare_share` is their
share of all since the statistics began. The counters start again when the number of such tables changes. Temporary
tables are left out: they come and go with their sessions. The collector calls the view's own functions, because the
view joins the indexes of every table for each query.

`off` counts the tables of the database for which autovacuum is switched off by their own storage parameter. Those of
them that are past the dead rows at which it would come are `off_behind`: `off_dead_rows` in all, and `off_names` names
the five with the most.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

SUMS = """SELECT sum(pg_stat_get_numscans(oid)) AS seq_scans, (SELECT sum(pg_stat_get_numscans(indexrelid))
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


def _query(threshold: str) -> str:
    sums, off = SUMS.format(threshold=threshold), OFF.format(threshold=threshold, named=NAMED)
    return BOTH.format(sums=sums, off=off)


TABLES = Collector(
    "tables",
    "pg_stat_user_tables",
    {12: _query(THRESHOLD), 18: _query(BOUNDED)},
    gauges=frozenset(
        {"live_rows", "dead_rows", "unanalyzed", "behind", "bare_share", "off", "off_behind", "off_dead_rows"}
    ),
    texts=frozenset({"off_names"}),
)
