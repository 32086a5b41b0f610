"""Sequences that belong to a column of the agent's database: the used share of the one that is nearest its end.

The end is the sequence's, or that of the column's type if it comes first. The 50 whose tables have most rows, or that
have used most numbers, are examined. One that a statement is changing is left out, so that no session waits for it. If
the account may not read some of them, and none of the others is half used, the share is unknown.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

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
