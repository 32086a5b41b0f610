"""pg_stat_archiver: archived segments, failures to archive, for how long all has failed; and what waits to be archived.

Of the command itself, which may hold a password, only this leaves the server: whether there is none, and whether it
keeps nothing.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

ARCHIVER = Collector(
    "archiver",
    "pg_stat_archiver",
    {
        12: r"""SELECT archived_count AS archived, failed_count AS failed,
CASE WHEN last_failed_time > coalesce(last_archived_time, '-infinity')
THEN extract(epoch FROM clock_timestamp() - coalesce(last_archived_time, stats_reset)) ELSE 0 END AS failing_s,
CASE WHEN may THEN (current_setting('archive_command') IN ('', '(disabled)')
AND coalesce(current_setting('archive_library', true), '') = '')::int END AS without_command,
CASE WHEN may THEN (current_setting('archive_command')
~ '^\s*(/usr)?(/bin/)?(true|:|exit 0|cd \.|echo( [^|>&;]*)?)\s*$')::int END AS keeps_nothing,
stats_reset AS epoch FROM pg_stat_archiver, (SELECT pg_has_role('pg_read_all_settings', 'USAGE') AS may) rights""",
    },
    gauges=frozenset({"failing_s", "without_command", "keeps_nothing"}),
)

WAITING = Collector(
    "archive",
    "pg_ls_archive_statusdir",
    {
        12: """SELECT count(*) AS waiting,
coalesce(extract(epoch FROM clock_timestamp() - min(modification)), 0) AS oldest_s
FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'""",
    },
    gauges=frozenset({"waiting", "oldest_s"}),
    right="has_function_privilege('pg_ls_archive_statusdir()', 'EXECUTE')",
    grant="GRANT pg_monitor TO {account};",
    every_s=20.0,
)
