"""How often an autovacuum worker went through its table's indexes before it was through the table; the oldest xid.

And who keeps dead rows from being removed: how many transactions ago the oldest of each kind began. Those of sessions
and of prepared transactions are of the agent's database: what another database's still read is not removed there.
`server_xids` is the oldest of all. A vacuum and an autovacuum worker hold nothing of each other.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

VACUUM = Collector(
    "vacuum",
    "pg_stat_progress_vacuum",
    {
        12: """SELECT (SELECT coalesce(max(p.index_vacuum_count), 0) FROM pg_stat_progress_vacuum p
JOIN pg_stat_activity a USING (pid) WHERE a.backend_type = 'autovacuum worker' AND p.phase = 'scanning heap')
AS index_passes, (SELECT max(age(datfrozenxid)) FROM pg_database) AS oldest_xid_age,
(SELECT max(mxid_age(datminmxid)) FROM pg_database) AS oldest_multixact_age""",
    },
    gauges=frozenset({"index_passes", "oldest_xid_age", "oldest_multixact_age"}),
)

SESSIONS = """SELECT coalesce(max(greatest(age(a.backend_xmin), age(a.backend_xid))), 0) FROM pg_stat_activity a
WHERE a.pid <> pg_backend_pid() AND a.backend_type NOT IN ('walsender', 'autovacuum worker')
AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum v WHERE v.pid = a.pid)"""
PREPARED = "SELECT coalesce(max(age(transaction)), 0) FROM pg_prepared_xacts"
SLOTS = "SELECT coalesce(max(age({xmin})), 0) FROM pg_replication_slots{kept}"
STANDBYS = "SELECT coalesce(max(age(backend_xmin)), 0) FROM pg_stat_replication"
QUERY = """SELECT xids, session_xids, prepared_xids, prepared_s, slot_xids, slot_catalog_xids, standby_xids,
greatest(any_session, any_prepared, slot_xids, slot_catalog_xids, standby_xids) AS server_xids
FROM (SELECT txid_snapshot_xmax(txid_current_snapshot()) AS xids, ({sessions}) AS any_session,
({sessions} AND a.datname = current_database()) AS session_xids, ({prepared}) AS any_prepared,
({prepared} WHERE database = current_database()) AS prepared_xids,
(SELECT coalesce(extract(epoch FROM clock_timestamp() - min(prepared)), 0) FROM pg_prepared_xacts
WHERE database = current_database()) AS prepared_s,
({slots}) AS slot_xids, ({catalogs}) AS slot_catalog_xids, ({standbys}) AS standby_xids) held"""


def _query(kept: str) -> str:
    slots, catalogs = (SLOTS.format(xmin=xmin, kept=kept) for xmin in ("xmin", "catalog_xmin"))
    return QUERY.format(sessions=SESSIONS, prepared=PREPARED, slots=slots, catalogs=catalogs, standbys=STANDBYS)


HORIZON = Collector(
    "horizon",
    "pg_stat_activity, pg_prepared_xacts and pg_replication_slots, by xmin",
    {12: _query(""), 13: _query(" WHERE wal_status IS DISTINCT FROM 'lost'")},
    gauges=frozenset(
        {
            "session_xids",
            "prepared_xids",
            "prepared_s",
            "slot_xids",
            "slot_catalog_xids",
            "standby_xids",
            "server_xids",
        }
    ),
)
