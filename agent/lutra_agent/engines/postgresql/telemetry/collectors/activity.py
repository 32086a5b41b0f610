"""pg_stat_activity: who is connected and what they wait for. Without pg_monitor, other accounts' states are hidden."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

ACTIVITY = Collector(
    "activity",
    "pg_stat_activity",
    {
        12: """SELECT count(*) AS connections, count(*) FILTER (WHERE state = 'active') AS active,
count(*) FILTER (WHERE state LIKE 'idle in transaction%') AS idle_in_transaction,
CASE WHEN bool_and(state IS NOT NULL AND state <> 'disabled') THEN count(*) FILTER (WHERE state = 'idle') END AS idle,
count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Lock') AS waiting_lock,
count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'LWLock') AS waiting_lwlock,
count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'BufferPin') AS waiting_pin,
count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'IO') AS waiting_io,
count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'IPC') AS waiting_ipc,
count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Client') AS waiting_client,
count(*) FILTER (WHERE wait_event = 'WALSync' OR wait_event = 'WalSync') AS waiting_wal_sync,
count(*) FILTER (WHERE wait_event = 'SyncRep') AS waiting_standby,
coalesce(extract(epoch FROM max(clock_timestamp() - state_change) FILTER (WHERE wait_event = 'SyncRep')), 0)
AS longest_wait_for_standby_s,
coalesce(extract(epoch FROM max(clock_timestamp() - xact_start)), 0) AS oldest_transaction_s,
current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
- coalesce(nullif(current_setting('reserved_connections', true), ''), '0')::int AS places
FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()""",
    },
    gauges=frozenset(
        {
            "connections",
            "active",
            "idle",
            "idle_in_transaction",
            "waiting_lock",
            "waiting_lwlock",
            "waiting_pin",
            "waiting_io",
            "waiting_ipc",
            "waiting_client",
            "waiting_wal_sync",
            "waiting_standby",
            "longest_wait_for_standby_s",
            "oldest_transaction_s",
            "places",
        }
    ),
)
