"""pg_stat_replication: the standbys, and how far behind the slowest is."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

REPLICATION = Collector(
    "replication",
    "pg_stat_replication",
    {
        12: """SELECT count(*) AS standbys, count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) AS synchronous,
greatest(coalesce(max(pg_wal_lsn_diff(sent_lsn, replay_lsn)), 0), 0) AS replay_lag_bytes,
coalesce(extract(epoch FROM max(replay_lag)), 0) AS lag_s FROM pg_stat_replication""",
    },
    gauges=frozenset({"standbys", "synchronous", "replay_lag_bytes", "lag_s"}),
)
