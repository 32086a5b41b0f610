"""pg_stat_replication and pg_replication_slots: the standbys, how far behind they are, and the log that slots hold."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

REPLICATION = Collector(
    "replication",
    "pg_stat_replication",
    {
        12: """SELECT count(*) AS standbys, count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) AS synchronous,
(current_setting('synchronous_standby_names') <> '')::int AS synchronous_wanted,
greatest(coalesce(max(pg_wal_lsn_diff(sent_lsn, replay_lsn)), 0), 0) AS replay_lag_bytes,
coalesce(extract(epoch FROM max(replay_lag)), 0) AS lag_s FROM pg_stat_replication""",
    },
    gauges=frozenset({"standbys", "synchronous", "synchronous_wanted", "replay_lag_bytes", "lag_s"}),
)

SLOTS_QUERY = """SELECT count(*) AS kept, count(*) FILTER (WHERE NOT active) AS inactive, {lost} AS lost,
greatest(coalesce(max(pg_wal_lsn_diff(reached, restart_lsn)) FILTER (WHERE NOT active), 0), 0) AS inactive_bytes,
greatest(coalesce(max(pg_wal_lsn_diff(reached, restart_lsn)), 0), 0) AS held_bytes FROM pg_replication_slots,
(SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS reached) log"""

SLOTS = Collector(
    "slots",
    "pg_replication_slots",
    {
        12: SLOTS_QUERY.format(lost="0"),
        13: SLOTS_QUERY.format(lost="count(*) FILTER (WHERE wal_status = 'lost')"),
    },
    gauges=frozenset({"kept", "inactive", "lost", "inactive_bytes", "held_bytes"}),
)
