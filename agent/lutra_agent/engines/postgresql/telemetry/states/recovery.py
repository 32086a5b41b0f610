"""Whether the server is in recovery, from where it receives its log, and how far behind it applies it.

`lag_s` is the age of the last commit that was applied, while log that was received waits to be applied. If all log
comes from an archive, the lag is unknown.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

QUERY = """SELECT standby::int AS in_recovery,
CASE WHEN standby THEN pg_is_wal_replay_paused()::int ELSE 0 END AS paused,
(SELECT count(*) FROM pg_stat_wal_receiver) AS receiving,
CASE WHEN may THEN (current_setting('primary_conninfo') <> '')::int END AS has_primary,
CASE WHEN may THEN (current_setting('restore_command') <> '')::int END AS has_archive,
CASE WHEN standby THEN greatest(pg_wal_lsn_diff(received, applied), 0) ELSE 0 END AS behind_bytes,
CASE WHEN NOT standby OR received = applied THEN 0 WHEN received IS NOT NULL
THEN extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END AS lag_s
FROM (SELECT pg_is_in_recovery() AS standby, pg_last_wal_receive_lsn() AS received,
pg_last_wal_replay_lsn() AS applied, pg_has_role('pg_read_all_settings', 'USAGE') AS may) log"""

RECOVERY = Collector(
    "recovery",
    "pg_stat_wal_receiver",
    {12: QUERY},
    gauges=frozenset({"in_recovery", "paused", "receiving", "has_primary", "has_archive", "behind_bytes", "lag_s"}),
)
