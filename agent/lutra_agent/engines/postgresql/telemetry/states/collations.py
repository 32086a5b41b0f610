"""Collations whose rules changed with the operating system's libraries since indexes were sorted by them.

Those of databases are known from 15 on. Of the agent's database, the collations count that an index uses.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

IN_USE = """count(*) AS outdated, string_agg(format('%I (%s, now %s)', collname, collversion, actual), ', ')
AS outdated_names FROM (SELECT c.collname, c.collversion, pg_collation_actual_version(c.oid) AS actual
FROM pg_collation c WHERE c.oid IN (SELECT unnest(indcollation) FROM pg_index)) used WHERE collversion <> actual"""
DATABASES = """count(*) AS outdated_databases,
string_agg(format('%I (%s, now %s)', datname, datcollversion, actual), ', ' ORDER BY datname) AS database_names
FROM (SELECT d.datname, d.datcollversion, pg_database_collation_actual_version(d.oid) AS actual
FROM pg_database d WHERE d.datallowconn) every_one WHERE datcollversion <> actual"""

COLLATIONS = Collector(
    "collations",
    "pg_collation",
    {12: f"SELECT {IN_USE}", 15: f"SELECT * FROM (SELECT {IN_USE}) u, (SELECT {DATABASES}) d"},  # noqa: S608
    gauges=frozenset({"outdated", "outdated_databases"}),
    texts=frozenset({"outdated_names", "database_names"}),
    every_s=60.0,
)
