"""pg_stat_replication and pg_replication_slots: the standbys, how far behind they are, and the log that slots hold.

`behind_bytes` counts from the server's own end of the log, what was not sent yet included. `silent_s` is how long ago
the most silent standby answered. Of slots, `invalid` ones serve no reader again, and `safe_bytes` may be written until
the first one loses its log.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

REPLICATION = Collector(
    "replication",
    "pg_stat_replication",
    {
        12: """SELECT count(*) AS standbys, count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) AS synchronous,
(current_setting('synchronous_standby_names') <> '')::int AS synchronous_wanted,
greatest(coalesce(max(pg_wal_lsn_diff(sent_lsn, replay_lsn)), 0), 0) AS replay_lag_bytes,
greatest(coalesce(max(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
ELSE pg_current_wal_lsn() END, replay_lsn)), 0), 0) AS behind_bytes,
greatest(coalesce(extract(epoch FROM clock_timestamp() - min(reply_time)), 0), 0) AS silent_s,
count(*) FILTER (WHERE sync_state = 'potential') AS potential,
coalesce(extract(epoch FROM max(replay_lag)), 0) AS lag_s FROM pg_stat_replication""",
    },
    gauges=frozenset(
        {
            "standbys",
            "synchronous",
            "synchronous_wanted",
            "potential",
            "replay_lag_bytes",
            "behind_bytes",
            "silent_s",
            "lag_s",
        }
    ),
)

SLOTS_QUERY = """SELECT count(*) AS kept, count(*) FILTER (WHERE NOT active AND NOT {gone}) AS inactive,
count(*) FILTER (WHERE {gone}) AS lost, {safe},
min(slot_name) FILTER (WHERE {gone}) AS lost_name, (array_agg(slot_name ORDER BY restart_lsn)
FILTER (WHERE NOT active AND NOT {gone}))[1] AS inactive_name,
greatest(coalesce(max(pg_wal_lsn_diff(reached, restart_lsn)) FILTER (WHERE active), 0), 0) AS active_bytes,
greatest(coalesce(max(pg_wal_lsn_diff(reached, restart_lsn)) FILTER (WHERE NOT active), 0), 0) AS inactive_bytes,
greatest(coalesce(max(pg_wal_lsn_diff(reached, restart_lsn)), 0), 0) AS held_bytes FROM pg_replication_slots,
(SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS reached) log"""

SAFE = "count(*) FILTER (WHERE wal_status = 'unreserved') AS unreserved, min(safe_wal_size) AS safe_bytes"

SLOTS = Collector(
    "slots",
    "pg_replication_slots",
    {
        12: SLOTS_QUERY.format(gone="false", safe="0 AS unreserved"),
        13: SLOTS_QUERY.format(gone="coalesce(wal_status = 'lost', false)", safe=SAFE),
        16: SLOTS_QUERY.format(
            gone="(coalesce(wal_status = 'lost', false) OR coalesce(conflicting, false))", safe=SAFE
        ),
        17: SLOTS_QUERY.format(gone="(invalidation_reason IS NOT NULL)", safe=SAFE),
    },
    gauges=frozenset(
        {"kept", "inactive", "lost", "unreserved", "inactive_bytes", "active_bytes", "held_bytes", "safe_bytes"}
    ),
    texts=frozenset({"lost_name", "inactive_name"}),
)
