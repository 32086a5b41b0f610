"""Hosts that the server turns away, because too many of their connections were broken off before they logged in.

MariaDB shows none of them while performance_schema is off.
"""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromQuery

HOSTS = FromQuery(
    "hosts",
    "performance_schema.host_cache",
    """SELECT IF(@@GLOBAL.performance_schema, COALESCE(SUM(SUM_CONNECT_ERRORS >= @@GLOBAL.max_connect_errors), 0), NULL)
AS blocked FROM performance_schema.host_cache""",
    frozenset({"blocked"}),
    absent="the agent's account may not read it: blocked hosts are not judged",
)
