"""pg_stat_activity: how long sessions idle in a transaction, and what the others wait for: a row, a latch, an
extension that asks another server. `statement_s` is the age of the oldest statement that runs, upkeep aside.

A latch is a lightweight lock; its names changed with version 13, and are recognised by the part that both spellings
share.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

LATCHES = {
    "latch_wal": "'%wal%insert%', '%walwrite%'",
    "latch_buffer_content": "'%buffer%content%'",
    "latch_buffer_mapping": "'%buffer%mapping%'",
    "latch_lock_manager": "'%lock%manager%'",
    "latch_snapshot": "'%procarray%'",
    "latch_subtransactions": "'%subtrans%'",
    "latch_multixact": "'%multixact%'",
}
UPKEEP = "^[[:space:]]*(vacuum|analyze|create|reindex|cluster|copy|refresh|alter)"
"""Statements that take long on a large table, and on whose end no client waits."""
BY_LATCH = ",\n".join(
    f"count(*) FILTER (WHERE wait_event_type = 'LWLock' AND wait_event ILIKE ANY (ARRAY[{names}])) AS {column}"
    for column, names in LATCHES.items()
)

SESSIONS = Collector(
    "sessions",
    "pg_stat_activity by what is waited for",
    {
        12: f"""SELECT count(*) FILTER (WHERE state LIKE 'idle in transaction%'
AND clock_timestamp() - state_change > interval '1 minute') AS idle_in_transaction,
coalesce(extract(epoch FROM max(clock_timestamp() - state_change)
FILTER (WHERE state LIKE 'idle in transaction%')), 0) AS idle_in_transaction_s,
count(*) FILTER (WHERE wait_event_type = 'Lock' AND wait_event IN ('tuple', 'transactionid')) AS waiting_row,
count(*) FILTER (WHERE wait_event_type = 'Lock' AND wait_event = 'tuple') AS queueing_row,
count(*) FILTER (WHERE wait_event_type = 'Lock' AND wait_event = 'relation') AS waiting_table,
count(*) FILTER (WHERE wait_event_type = 'Lock' AND wait_event = 'advisory') AS waiting_advisory,
count(*) FILTER (WHERE wait_event = 'CommitDelay') AS waiting_commit_delay,
count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Extension') AS waiting_extension,
coalesce(extract(epoch FROM max(clock_timestamp() - query_start) FILTER (WHERE state = 'active'
AND query !~* '{UPKEEP}')), 0) AS statement_s,
{BY_LATCH}
FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()""",  # noqa: S608
    },
    gauges=None,
)
