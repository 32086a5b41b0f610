"""Faults in the server's own files, with which it would not start again.

A setting that waits for a restart shows as an error as well, and is none: those of a restart are left out, whose name
and line are right.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

QUERY = """SELECT count(*) FILTER (WHERE error IS NOT NULL AND NOT coalesce(lower(name) = ANY (at_start), false))
AS errors FROM pg_file_settings, (SELECT array_agg(lower((s).name)) AS at_start
FROM (SELECT pg_show_all_settings() AS s OFFSET 0) settings WHERE (s).context = 'postmaster') fixed"""
"""Settings are read one by one: pg_settings as a table would be kept in a temporary file where work_mem is small."""

FILES = Collector(
    "files",
    "pg_file_settings",
    {12: QUERY},
    gauges=frozenset({"errors"}),
    right="has_function_privilege('pg_show_all_file_settings()', 'EXECUTE') "
    "AND has_table_privilege('pg_file_settings', 'SELECT')",
    grant="GRANT SELECT ON pg_file_settings TO {account}; "
    "GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO {account};",
    every_s=60.0,
)
