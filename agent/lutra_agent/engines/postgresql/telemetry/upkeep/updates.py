"""The table whose updates wrote most to its indexes since the statistics began: those that were not HOT.

An update is HOT if no indexed column changes and the page has room for the new row; any other one writes to every index
of the table. `new_page` are the updates that found no room (16+). `seldom` are valid, non-unique indexes of the table
with less than one scan per hundred updates, and `seldom_name` is the one with the fewest scans. If a different table
comes first, the counters start again. `updated_all` are the updates of all tables.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

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
