"""pg_locks: how many are held, how many are waited for."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

LOCKS = Collector(
    "locks",
    "pg_locks",
    {
        12: """SELECT count(*) FILTER (WHERE granted) AS held, count(*) FILTER (WHERE NOT granted) AS waited_for
FROM pg_locks WHERE pid IS DISTINCT FROM pg_backend_pid()""",
    },
    gauges=frozenset({"held", "waited_for"}),
)
