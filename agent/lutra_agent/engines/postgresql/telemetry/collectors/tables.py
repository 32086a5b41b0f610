"""pg_stat_user_tables of the agent's database: scans, dead rows, vacuums."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

TABLES = Collector(
    "tables",
    "pg_stat_user_tables",
    {
        12: """SELECT sum(seq_scan) AS seq_scans, sum(idx_scan) AS idx_scans, sum(n_tup_hot_upd) AS hot_updates,
sum(autovacuum_count) AS autovacuums, sum(autoanalyze_count) AS autoanalyzes,
sum(n_live_tup) AS live_rows, sum(n_dead_tup) AS dead_rows, count(*) AS epoch FROM pg_stat_user_tables""",
    },
    gauges=frozenset({"live_rows", "dead_rows"}),
)
