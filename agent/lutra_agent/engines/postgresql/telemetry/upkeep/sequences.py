"""Sequences that belong to a column of the agent's database: how far the one that is nearest its end has come.

The end is the sequence's, or that of the column's type where it comes first. The 50 whose tables have most rows, or
have taken most, are looked at; one that a statement is changing is left out, so that nobody waits for it.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

ENDS = """CASE t.typname WHEN 'int2' THEN 32767 WHEN 'int4' THEN 2147483647 ELSE q.seqmax END"""
SEQUENCES = Collector(
    "sequences",
    "pg_sequence",
    {
        12: f"""SELECT coalesce(max(used), 0) AS used_share, count(*) FILTER (WHERE used >= 0.5) AS half_used
FROM (SELECT CASE WHEN has_sequence_privilege(q.seqrelid, 'USAGE, SELECT')
THEN pg_sequence_last_value(q.seqrelid) / least(q.seqmax, {ENDS})::float8 END AS used
FROM (SELECT oid FROM pg_class WHERE relkind IN ('r', 'p') AND oid >= 16384
ORDER BY greatest(reltuples, pg_stat_get_tuples_inserted(oid)) DESC LIMIT 50) c,
LATERAL (SELECT objid, refobjsubid FROM pg_depend WHERE refclassid = 'pg_class'::regclass AND refobjid = c.oid
AND classid = 'pg_class'::regclass AND deptype IN ('a', 'i') AND refobjsubid > 0 OFFSET 0) d,
LATERAL (SELECT * FROM pg_sequence WHERE seqrelid = d.objid OFFSET 0) q,
LATERAL (SELECT t.typname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = c.oid AND a.attnum = d.refobjsubid OFFSET 0) t
WHERE q.seqincrement > 0 AND NOT q.seqcycle AND q.seqrelid <> ALL (ARRAY(SELECT l.relation FROM pg_locks l
WHERE l.relation IS NOT NULL
AND l.mode IN ('ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')))) every_one""",  # noqa: S608
    },
    gauges=frozenset({"used_share", "half_used"}),
    every_s=60.0,
)
