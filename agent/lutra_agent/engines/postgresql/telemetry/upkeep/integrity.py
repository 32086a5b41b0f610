"""The integrity of rows in the agent's database: triggers that are off, constraints that were never checked, keys.

`unchecked` are tables whose foreign keys are not checked, because their own triggers are off. `unidentified` are tables
in a publication of updates or deletes that have nothing to identify a row: the server refuses both.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

IN_SCHEMA = """ OR EXISTS (SELECT FROM pg_publication_namespace n JOIN pg_publication p ON p.oid = n.pnpubid
WHERE n.pnnspid = c.relnamespace AND (p.pubupdate OR p.pubdelete))"""
QUERY = """WITH bare AS MATERIALIZED (SELECT c.oid, c.relnamespace, c.relreplident,
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
    {12: QUERY.format(in_schema=""), 15: QUERY.format(in_schema=IN_SCHEMA)},
    gauges=None,
    texts=frozenset({"unidentified_name", "unchecked_name", "not_valid_name", "without_key_name", "triggers_off_name"}),
    every_s=60.0,
)
