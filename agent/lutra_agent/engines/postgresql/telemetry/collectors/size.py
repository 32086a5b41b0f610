"""pg_class of the agent's database: its size by the catalogue's own count, which costs no look at the disk."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

SIZE = Collector(
    "size",
    "pg_class",
    {
        12: """SELECT sum(relpages::bigint) * current_setting('block_size')::int AS bytes, count(*) AS relations
FROM pg_class WHERE relkind IN ('r', 'i', 't', 'm')""",
    },
    gauges=frozenset({"bytes", "relations"}),
)
