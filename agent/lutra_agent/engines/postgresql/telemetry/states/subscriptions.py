"""Logical replication into this server: subscriptions without a worker, those that are off, and errors (15+)."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

COUNTED = """SELECT count(*) FILTER (WHERE s.subenabled) AS enabled,
count(*) FILTER (WHERE NOT s.subenabled) AS disabled,
count(*) FILTER (WHERE s.subenabled AND NOT EXISTS
(SELECT FROM pg_stat_subscription t WHERE t.subname = s.subname AND t.pid IS NOT NULL)) AS idle"""
ERRORS = """(SELECT coalesce(sum(apply_error_count + sync_error_count), 0) FROM pg_stat_subscription_stats) AS errors,
(SELECT max(stats_reset) FROM pg_stat_subscription_stats) AS epoch"""

SUBSCRIPTIONS = Collector(
    "subscriptions",
    "pg_stat_subscription",
    {
        12: f"{COUNTED} FROM pg_subscription s",
        15: f"{COUNTED}, {ERRORS} FROM pg_subscription s",
    },
    gauges=frozenset({"enabled", "disabled", "idle"}),
)
