"""How far this server is behind its source, where it has one. A lag that the server does not know is absent here."""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.server.replica import channels
from lutra_agent.engines.mysql.telemetry.collectors.base import Status


@dataclass(frozen=True)
class Replication:
    name: str = "replication"
    view: str = "replication status"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        found = channels(connection)
        lags = [float(c.lag_s) for c in found if c.lag_s is not None]
        stopped = float(sum(not c.running for c in found))
        return Reading(gauges={"channels": len(found), "stopped": stopped, **({"lag_s": max(lags)} if lags else {})})


REPLICATION = Replication()
