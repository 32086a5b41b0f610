"""Semi-synchronous replication, as its source sees it: the replicas that acknowledge commits, and the commits that
wait.
"""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.engines.common.answers import number_in
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import Status

WORDS = ("Rpl_semi_sync_source_", "Rpl_semi_sync_master_")
"""The newer and the older plug-in have different names for their counters."""
GAUGES = {"clients": "clients", "waiting": "wait_sessions"}
COUNTERS = {"not_acknowledged": "no_tx", "acknowledged": "yes_tx"}


@dataclass(frozen=True)
class SemiSync:
    name: str = "semi_sync"
    view: str = "status of semi-synchronous replication"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        word = next((w for w in WORDS if f"{w}status" in status), None)
        if word is None:
            return None
        gauges, counters = (
            {ours: n for ours, theirs in names.items() if (n := number_in(status.get(f"{word}{theirs}"))) is not None}
            for names in (GAUGES, COUNTERS)
        )
        return Reading(counters, {**gauges, "active": float(status[f"{word}status"] == "ON")})


SEMI_SYNC = SemiSync()
