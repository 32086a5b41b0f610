"""Limits of connections that databases and accounts have of their own, and prepared transactions, of which each holds
its locks.

Of the databases and of the accounts with a limit, the fullest one counts. Background processes, and databases that are
being dropped, are left out.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

QUERY = """WITH used AS (SELECT datid, usesysid, count(*) AS n FROM pg_stat_activity
WHERE backend_type = 'client backend' GROUP BY datid, usesysid),
databases AS (SELECT quote_ident(d.datname) AS name, d.datconnlimit AS most,
coalesce((SELECT sum(n) FROM used WHERE datid = d.oid), 0) AS n
FROM pg_database d WHERE d.datconnlimit > 0 AND d.datallowconn),
accounts AS (SELECT quote_ident(r.rolname) AS name, r.rolconnlimit AS most,
coalesce((SELECT sum(n) FROM used WHERE usesysid = r.oid), 0) AS n
FROM pg_roles r WHERE r.rolconnlimit > 0 AND r.rolcanlogin AND NOT r.rolsuper),
d AS (SELECT n, most, name FROM databases ORDER BY n / most DESC, most LIMIT 1),
a AS (SELECT n, most, name FROM accounts ORDER BY n / most DESC, most LIMIT 1)
SELECT (SELECT name FROM d) AS database_name, (SELECT name FROM a) AS account_name,
(SELECT gid FROM pg_prepared_xacts ORDER BY prepared LIMIT 1) AS prepared_name,
coalesce((SELECT n FROM d), 0) AS database_used, coalesce((SELECT most FROM d), 0) AS database_limit,
coalesce((SELECT n FROM a), 0) AS account_used, coalesce((SELECT most FROM a), 0) AS account_limit,
(SELECT count(*) FROM pg_database WHERE datname <> 'template0' AND (datconnlimit = 0 OR NOT datallowconn)) AS closed,
(SELECT count(*) FROM pg_database WHERE datconnlimit = -2) AS half_dropped,
(SELECT count(*) FROM pg_prepared_xacts) AS prepared,
(SELECT coalesce(extract(epoch FROM clock_timestamp() - min(prepared)), 0) FROM pg_prepared_xacts) AS prepared_s"""

LIMITS = Collector(
    "limits",
    "pg_database, pg_roles and pg_prepared_xacts",
    {12: QUERY},
    gauges=frozenset(
        {
            "database_used",
            "database_limit",
            "account_used",
            "account_limit",
            "closed",
            "half_dropped",
            "prepared",
            "prepared_s",
        }
    ),
    texts=frozenset({"database_name", "account_name", "prepared_name"}),
)
