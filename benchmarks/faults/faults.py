"""Every fault, and the server on which it is made where it names none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.faults import host, mysql_safety, mysql_work, postgresql_safety, postgresql_work, redis
from benchmarks.faults.fault import Fault

FAULTS: Mapping[str, Sequence[Fault]] = {
    "postgres15": (*postgresql_safety.FAULTS, *postgresql_work.FAULTS),
    "mariadb": (*mysql_safety.FAULTS, *mysql_work.FAULTS),
    "redis": redis.FAULTS,
    "host": host.FAULTS,
}
"""By the server that is usual for an engine. Those of the host name theirs."""
