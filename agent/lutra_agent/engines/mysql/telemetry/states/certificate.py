"""The remaining validity of the server's certificate."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from lutra_agent.engines.common.answers import certain
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import Status

ENDS = "Ssl_server_not_after"
FORMAT = "%b %d %H:%M:%S %Y GMT"
NOW = "SELECT UNIX_TIMESTAMP()"


@dataclass(frozen=True)
class Certificate:
    name: str = "certificate"
    view: str = "the server's certificate"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        text = status.get(ENDS, "").strip()
        if not text:
            return None  # it has none
        ends = datetime.strptime(text, FORMAT).replace(tzinfo=UTC)
        return Reading(gauges={"left_s": ends.timestamp() - certain(connection.row(NOW)[0])})


CERTIFICATE = Certificate()
