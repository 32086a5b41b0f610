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
        gauges = {
            "channels": float(len(found)),
            "stopped": float(sum(not c.running for c in found)),
            "not_receiving": float(sum(not c.receives for c in found)),
            "not_applying": float(sum(not c.applies for c in found)),
            "io_error": max((c.io_error for c in found), default=0.0),
            "sql_error": max((c.sql_error for c in found), default=0.0),
            "delay_s": max((c.delay_s for c in found), default=0.0),
            "by_place": float(sum(not c.by_gtid for c in found)),
            "filtered": float(sum(c.filtered for c in found)),
        }
        return Reading(gauges={**gauges, **({"lag_s": max(lags)} if lags else {})})


REPLICATION = Replication()
