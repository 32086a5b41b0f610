"""Collations whose rules changed with the operating system's libraries since indexes were sorted by them.

Those of databases are known from 15 on. Of the agent's database, the collations count that an index uses.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

IN_USE = """(SELECT count(*) FROM pg_collation c WHERE c.collversion <> pg_collation_actual_version(c.oid)
AND c.oid IN (SELECT unnest(indcollation) FROM pg_index)) AS outdated"""
DATABASES = """(SELECT count(*) FROM pg_database d WHERE d.datallowconn
AND d.datcollversion <> pg_database_collation_actual_version(d.oid)) AS outdated_databases"""

COLLATIONS = Collector(
    "collations",
    "pg_collation",
    {12: f"SELECT {IN_USE}", 15: f"SELECT {IN_USE}, {DATABASES}"},
    gauges=frozenset({"outdated", "outdated_databases"}),
    every_s=60.0,
)
