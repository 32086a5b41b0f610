"""Databases and accounts whose own settings refuse writes or leave out triggers: ALTER DATABASE, ALTER ROLE … SET."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

READ_ONLY = "c ~* '^default_transaction_read_only=(on|t|tr|tru|true|y|ye|yes|1)$'"
QUERY = f"""SELECT count(*) FILTER (WHERE setrole = 0 AND {READ_ONLY}) AS read_only_databases,
count(*) FILTER (WHERE setrole <> 0 AND {READ_ONLY}) AS read_only_accounts,
count(*) FILTER (WHERE c ~* '^session_replication_role=replica$') AS without_triggers,
min(quote_ident(datname)) FILTER (WHERE setrole = 0 AND {READ_ONLY}) AS read_only_name
FROM pg_db_role_setting LEFT JOIN pg_database d ON d.oid = setdatabase LEFT JOIN unnest(setconfig) c ON true"""  # noqa: S608

OVERRIDES = Collector(
    "overrides",
    "pg_db_role_setting",
    {12: QUERY},
    gauges=frozenset({"read_only_databases", "read_only_accounts", "without_triggers"}),
    texts=frozenset({"read_only_name"}),
)
