"""The program's version, the day, settings that wait for a restart, and whether the server recovered from a crash.

After a crash of one of its processes the server ends all others and starts them again, under the main process of
before: the checkpointer is then much younger than that. `recovered_s` is its age where it was `started_again`.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

QUERY = """SELECT current_setting('server_version_num')::int AS version_num,
floor(extract(epoch FROM clock_timestamp()) / 86400) AS day,
(SELECT count(*) FILTER (WHERE waits) FROM
(SELECT (pg_show_all_settings()).pending_restart AS waits OFFSET 0) settings) AS pending,
again::int AS started_again,
CASE WHEN again THEN extract(epoch FROM clock_timestamp() - begun) ELSE 0 END AS recovered_s
FROM (SELECT max(backend_start) AS begun, max(backend_start) > pg_postmaster_start_time() + interval '5 s' AS again
FROM pg_stat_activity WHERE backend_type = 'checkpointer') checkpointer"""

SOFTWARE = Collector(
    "software",
    "pg_settings",
    {12: QUERY},
    gauges=frozenset({"version_num", "day", "pending", "started_again", "recovered_s"}),
)
