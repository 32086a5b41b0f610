"""pg_stat_io (16+): reads, writes and evictions, client backends apart from the rest."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

SUMS = """sum(reads) AS reads, sum(writes) AS writes, sum(extends) AS extends, sum(hits) AS hits,
sum(evictions) AS evictions, sum(reuses) AS reuses, sum(fsyncs) AS fsyncs, sum(writebacks) AS writebacks,
sum(read_time) AS read_ms, sum(write_time) AS write_ms, sum(fsync_time) AS fsync_ms,
sum(reads) FILTER (WHERE backend_type = 'client backend') AS client_reads,
sum(writes) FILTER (WHERE backend_type = 'client backend') AS client_writes,
sum(fsyncs) FILTER (WHERE backend_type = 'client backend') AS client_fsyncs,
sum(writes) FILTER (WHERE backend_type = 'client backend' AND object = 'relation' AND context = 'normal')
AS backend_writes,
sum(reads) FILTER (WHERE context = 'vacuum') AS vacuum_reads,
max(stats_reset) AS epoch"""

IO = Collector(
    "io",
    "pg_stat_io",
    {
        16: f"SELECT {SUMS} FROM pg_stat_io",  # noqa: S608
        18: f"SELECT {SUMS}, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes FROM pg_stat_io",  # noqa: S608
    },
)
