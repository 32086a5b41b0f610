"""The cost of monitoring and its gaps: plug-ins that are loaded, and the server's own log files."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

LOADED = "concat_ws(',', current_setting('shared_preload_libraries'), current_setting('session_preload_libraries'))"

SETTINGS = ", ".join(
    f"max((s).setting) FILTER (WHERE (s).name = '{setting}') AS {name}"
    for name, setting in {
        "duration": "auto_explain.log_min_duration",
        "analyzed": "auto_explain.log_analyze",
        "rate": "auto_explain.sample_rate",
        "kept": "pg_stat_statements.max",
        "track": "pg_stat_statements.track",
        "audit": "pgaudit.log",
    }.items()
)
"""One by one: as a table, pg_settings would be kept in a temporary file where work_mem is small."""

WATCHING = Collector(
    "watching",
    "pg_settings of plug-ins",
    {
        12: f"""SELECT (loaded LIKE '%pg_stat_statements%')::int AS statements_loaded,
(coalesce(duration::float8, -1) >= 0)::int AS plans, coalesce(nullif(duration::float8, -1), 0) AS plans_ms,
coalesce((analyzed = 'on')::int, 0) AS plans_analyze, coalesce(rate::float8, 1) AS plans_share,
coalesce(kept::float8, 0) AS statements_kept, coalesce((track = 'all')::int, 0) AS statements_nested,
coalesce((audit ~* '(all|read|write)')::int, 0) AS audited,
(current_setting('log_destination') = '')::int AS log_nowhere
FROM (SELECT {LOADED} AS loaded) l, (SELECT {SETTINGS} FROM (SELECT pg_show_all_settings() AS s OFFSET 0) each) k""",  # noqa: S608
    },
    gauges=None,
    right="pg_has_role('pg_read_all_settings', 'USAGE')",
    grant="GRANT pg_monitor TO {account};",
)

SERVER_LOG = Collector(
    "server_log",
    "pg_ls_logdir",
    {
        12: """SELECT coalesce(sum(size), 0) AS bytes, count(*) AS files, coalesce(max(size), 0) AS largest_bytes,
coalesce(extract(epoch FROM clock_timestamp() - min(modification)), 0) AS oldest_s FROM pg_ls_logdir()
WHERE current_setting('logging_collector') = 'on'""",
    },
    gauges=None,
    right="has_function_privilege('pg_ls_logdir()', 'EXECUTE')",
    grant="GRANT pg_monitor TO {account};",
    every_s=60.0,
)
