"""What watching costs and what it leaves out: plug-ins that are loaded, and the server's own log files."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

LOADED = "concat_ws(',', current_setting('shared_preload_libraries'), current_setting('session_preload_libraries'))"

WATCHING = Collector(
    "watching",
    "pg_settings of plug-ins",
    {
        12: f"""SELECT (loaded LIKE '%pg_stat_statements%')::int AS statements_loaded,
(SELECT count(*) FROM pg_settings WHERE name = 'auto_explain.log_min_duration' AND setting::float8 >= 0) AS plans,
coalesce((SELECT nullif(setting::float8, -1) FROM pg_settings WHERE name = 'auto_explain.log_min_duration'), 0)
AS plans_ms,
coalesce((SELECT (setting = 'on')::int FROM pg_settings WHERE name = 'auto_explain.log_analyze'), 0) AS plans_analyze,
coalesce((SELECT setting::float8 FROM pg_settings WHERE name = 'auto_explain.sample_rate'), 1) AS plans_share,
coalesce((SELECT setting::float8 FROM pg_settings WHERE name = 'pg_stat_statements.max'), 0) AS statements_kept,
coalesce((SELECT (setting = 'all')::int FROM pg_settings WHERE name = 'pg_stat_statements.track'), 0)
AS statements_nested,
coalesce((SELECT (setting ~* '(all|read|write)')::int FROM pg_settings WHERE name = 'pgaudit.log'), 0) AS audited,
(current_setting('log_destination') = '')::int AS log_nowhere
FROM (SELECT {LOADED} AS loaded) l""",  # noqa: S608
    },
    gauges=frozenset(
        {
            "statements_loaded",
            "plans",
            "plans_ms",
            "plans_analyze",
            "plans_share",
            "statements_kept",
            "statements_nested",
            "audited",
            "log_nowhere",
        }
    ),
    right="pg_has_role('pg_read_all_settings', 'USAGE')",
    grant="GRANT pg_read_all_settings TO {account};",
)

SERVER_LOG = Collector(
    "server_log",
    "pg_ls_logdir",
    {
        12: """SELECT coalesce(sum(size), 0) AS bytes, count(*) AS files, coalesce(max(size), 0) AS largest_bytes,
coalesce(extract(epoch FROM clock_timestamp() - min(modification)), 0) AS oldest_s FROM pg_ls_logdir()
WHERE current_setting('logging_collector') = 'on'""",
    },
    gauges=frozenset({"bytes", "files", "largest_bytes", "oldest_s"}),
    right="has_function_privilege('pg_ls_logdir()', 'EXECUTE')",
    grant="GRANT EXECUTE ON FUNCTION pg_ls_logdir() TO {account};",
    every_s=60.0,
)
