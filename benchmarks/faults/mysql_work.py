"""MySQL and MariaDB: housekeeping, plans, logging, concurrency."""

from __future__ import annotations

from benchmarks.faults.fault import Fault

FAULTS: tuple[Fault, ...] = ()
