"""Checkpoints: pg_stat_checkpointer since PostgreSQL 17, columns of pg_stat_bgwriter before."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

CHECKPOINTER = Collector(
    "checkpointer",
    "pg_stat_checkpointer",
    {
        12: """SELECT checkpoints_timed AS timed, checkpoints_req AS requested, checkpoint_write_time AS write_ms,
checkpoint_sync_time AS sync_ms, buffers_checkpoint AS buffers_written, stats_reset AS epoch FROM pg_stat_bgwriter""",
        17: """SELECT num_timed AS timed, num_requested AS requested, write_time AS write_ms, sync_time AS sync_ms,
buffers_written, stats_reset AS epoch FROM pg_stat_checkpointer""",
    },
)
