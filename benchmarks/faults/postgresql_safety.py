"""PostgreSQL: outages, capacity, safety, replication."""

from __future__ import annotations

from benchmarks.faults.fault import Fault

FAULTS = (
    Fault("fsync off", "safety", frozenset({"writes_not_forced"}), {"fsync": "off"}),
    Fault("full_page_writes off", "safety", frozenset({"pages_may_tear"}), {"full_page_writes": "off"}),
    Fault(
        "a standby that does not exist",
        "outage",
        frozenset({"commits_wait_for_standby"}),
        make=lambda scene: (
            scene.sql("ALTER SYSTEM SET synchronous_standby_names = 'dr1'"),
            scene.sql("SELECT pg_reload_conf()"),
        ),
    ),
)
