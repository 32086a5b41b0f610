"""pg_db_role_setting: settings of a role or a database, which hide the server's values from its sessions.

It counts planner switches that are off, costs and limits far from any useful value, and statements that are all logged.
Sizes are in bytes and times in milliseconds; a value that no role has is 0.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

ODD = """(name = 'random_page_cost' AND NOT number BETWEEN 0.5 AND 20)
OR (name = 'seq_page_cost' AND NOT number BETWEEN 0.05 AND 10)
OR (name = 'cpu_tuple_cost' AND NOT number BETWEEN 0.0005 AND 0.2)
OR (name = 'cpu_index_tuple_cost' AND NOT number BETWEEN 0.00025 AND 0.1)
OR (name = 'cpu_operator_cost' AND NOT number BETWEEN 0.000125 AND 0.05)
OR (name = 'parallel_setup_cost' AND NOT number BETWEEN 10 AND 100000)
OR (name = 'parallel_tuple_cost' AND NOT number BETWEEN 0.001 AND 10)
OR (name IN ('from_collapse_limit', 'join_collapse_limit') AND NOT number BETWEEN 3 AND 24)
OR (name = 'default_statistics_target' AND NOT number BETWEEN 20 AND 2000)
OR (name = 'cursor_tuple_fraction' AND number < 0.01) OR (name = 'jit_above_cost' AND number BETWEEN 0 AND 1000)
OR (name = 'effective_cache_size' AND bytes < 33554432)
OR (name = 'plan_cache_mode' AND value <> 'auto') OR (name = 'constraint_exclusion' AND value <> 'partition')
OR (name IN ('force_parallel_mode', 'debug_parallel_query') AND value <> 'off')"""

SWITCHED_OFF = """name LIKE 'enable\\_%' AND name NOT LIKE '%partitionwise%'
AND value IN ('off', 'false', 'no', '0')"""
WHOSE = """concat_ws(' in ', CASE WHEN setrole <> 0 THEN (SELECT 'role ' || quote_ident(rolname) FROM pg_roles
WHERE oid = setrole) END, CASE WHEN setdatabase <> 0 THEN (SELECT 'database ' || quote_ident(datname)
FROM pg_database WHERE oid = setdatabase) END)"""
"""Empty for the settings of all roles."""

QUERY = f"""SELECT count(*) AS kept,
count(*) FILTER (WHERE {SWITCHED_OFF}) AS switches_off,
string_agg(concat(whose, ': ', name, ' = ', value), '; ' ORDER BY whose, name)
FILTER (WHERE {SWITCHED_OFF} OR {ODD}) AS plan_names,
count(*) FILTER (WHERE {ODD}) AS odd,
coalesce(min(bytes) FILTER (WHERE name = 'work_mem'), 0) AS least_work_mem,
coalesce(max(bytes) FILTER (WHERE name = 'work_mem'), 0) AS most_work_mem,
coalesce(min(ms) FILTER (WHERE ms > 0 AND name IN ('statement_timeout', 'transaction_timeout')), 0) AS statement_ms,
coalesce(min(ms) FILTER (WHERE ms > 0 AND name = 'lock_timeout'), 0) AS lock_ms,
coalesce(min(ms) FILTER (WHERE ms > 0 AND name IN ('idle_session_timeout', 'idle_in_transaction_session_timeout')), 0)
AS idle_ms,
count(*) FILTER (WHERE (name = 'log_statement' AND value IN ('all', 'mod'))
OR (name = 'log_min_duration_statement' AND ms BETWEEN 0 AND 5) OR (name = 'log_duration' AND value IN ('on', 'true'))
OR (name = 'auto_explain.log_min_duration' AND ms BETWEEN 0 AND 5)) AS logged,
count(*) FILTER (WHERE name = 'synchronous_commit' AND value IN ('off', 'false', 'no', '0')) AS commits_not_safe
FROM (SELECT name, value, coalesce(nullif({WHOSE}, ''), 'all roles') AS whose,
CASE WHEN value ~ '^-?[0-9]*[.]?[0-9]+(e-?[0-9]+)?$' THEN value::float8 END AS number,
CASE WHEN value ~ '^[0-9]+$' THEN value::float8 * CASE name WHEN 'effective_cache_size'
THEN current_setting('block_size')::int ELSE 1024 END
WHEN value ~ '^[0-9]+ *(kb|mb|gb|tb)$' THEN pg_size_bytes(value)::float8 END AS bytes,
CASE WHEN value ~ '^[0-9]+$' THEN value::float8
WHEN value ~ '^[0-9.]+ *(us|ms|s|min|h|d)$' THEN 1000 * extract(epoch FROM value::interval) END AS ms
FROM (SELECT setrole, setdatabase, lower(split_part(entry, '=', 1)) AS name,
lower(btrim(substr(entry, strpos(entry, '=') + 1))) AS value
FROM pg_db_role_setting s, unnest(s.setconfig) entry) e) v"""  # noqa: S608

ROLE_SETTINGS = Collector(
    "role_settings",
    "pg_db_role_setting",
    {12: QUERY},
    gauges=None,
    texts=frozenset({"plan_names"}),
    every_s=60.0,
)
