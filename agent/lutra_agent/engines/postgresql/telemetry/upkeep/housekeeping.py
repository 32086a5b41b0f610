"""The readings of pg_stat_user_tables for the agent's database: tables that autovacuum leaves out, and old statistics.

A table has `stale` statistics where more than half of its rows, and 10,000, were changed since it was analyzed, which
was before the last minute and a half: a session counts what it changed up to a minute later;
`never_analyzed` are those of 10,000 rows and more with none. `own_late` have thresholds of their own and twice the dead
rows at which autovacuum would otherwise come. `unlogged_linked` are unlogged tables with rows that a foreign key
belongs to, or refers to. Of each kind the worst three tables are named.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

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
QUERY = f"""SELECT count(*) FILTER (WHERE {LATE}) AS own_late, {WORST.format(by="dead", kind=LATE)} AS own_late_name,
coalesce(sum(dead) FILTER (WHERE own AND NOT off AND dead > 2 * threshold), 0) AS own_late_dead,
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
    {12: QUERY},
    gauges=None,
    texts=frozenset({"own_late_name", "stale_name", "never_analyzed_name", "unlogged_name", "unlogged_linked_name"}),
    every_s=60.0,
)
