"""Makes reports, spools them, and sends what waits: the only writer of the spool."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lutra_models.catalog.facts import Server
from lutra_models.knobs import Value
from lutra_models.wire import AgentStatus, Directive, GuardEvent, Outcome, Receipt, Report, ReportedWindow

from lutra_agent.clock import Clock
from lutra_agent.engines.base import Latency
from lutra_agent.errors import ServiceRefused, ServiceUnavailable
from lutra_agent.spool import Spool
from lutra_agent.throttle import Throttle
from lutra_agent.transport import Transport, encode

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Content:
    """What one report says besides the server's facts."""

    window: tuple[datetime, datetime] | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    latency: Latency | None = None
    context: Mapping[str, Value] = field(default_factory=dict)
    outcomes: Sequence[Outcome] = ()
    events: Sequence[GuardEvent] = ()
    measures: str | None = None
    failure: str | None = None


class Reports:
    """`status` says what the agent says of itself at the time of a report."""

    def __init__(
        self,
        name: str | None,
        spool: Spool,
        transport: Transport,
        clock: Clock,
        status: Callable[[], AgentStatus],
    ) -> None:
        self._agent = identifier(name or socket.gethostname())
        self._spool = spool
        self._transport = transport
        self._clock = clock
        self._status = status
        self._throttle = Throttle(log)
        self._settings_sent: str | None = None

    def put(self, server: Server, content: Content) -> None:
        """Store one report durably; it is sent by `flush`."""
        settings_hash = server.settings_hash
        settings = None if settings_hash == self._settings_sent else dict(server.settings)
        fields = {
            "agent": self._agent,
            "epoch": self._spool.epoch,
            "sent_at": self._sent_at(content),
            "engine": server.engine,
            "engine_version": server.version[:64],
            "role": server.role,
            "identifier": server.identifier[:128],
            "host": server.host,
            "peak_connections": server.peak_connections,
            "settings_hash": settings_hash,
            "settings": settings,
            "window": content.window and ReportedWindow(start=content.window[0], end=content.window[1]),
            "metrics": _metrics(content),
            "p99_source": content.latency and content.latency.source,
            "p99_of": content.latency and content.latency.of,
            "context": dict(content.context),
            "measures": content.measures,
            "failure": content.failure,
            "outcomes": list(content.outcomes),
            "events": list(content.events),
            "status": self._status(),
        }
        self._spool.append(lambda sequence: encode(Report.model_validate({**fields, "sequence": sequence})))
        self._settings_sent = settings_hash

    def _sent_at(self, content: Content) -> datetime:
        """Never before the window's end, also where the clock was set back meanwhile."""
        now = self._clock.now()
        return max(now, content.window[1]) if content.window else now

    def flush(self) -> Receipt | None:
        """Send what waits, in order, and give the newest answer. What cannot be sent stays."""
        try:
            receipt = self._spool.drain(self._send)
        except ServiceUnavailable as error:
            self._throttle.failed("sending reports", error)
            return None
        if receipt is None:
            return None
        self._throttle.worked("sending reports")
        if receipt.settings_wanted:
            self._settings_sent = None
        return receipt

    def poll(self, wait_s: float) -> Directive | None:
        """Wait for a directive; None as well where the service cannot be asked."""
        try:
            found = self._transport.directive(wait_s, self._agent, self._spool.epoch)
        except (ServiceUnavailable, ServiceRefused) as error:
            self._throttle.failed("asking for a directive", error)
            return None
        self._throttle.worked("asking for a directive")
        return found

    def _send(self, body: bytes) -> Receipt:
        try:
            return self._transport.send(body)
        except ServiceRefused as error:
            log.error("a report was refused for good and moved aside: %s", error)
            raise


def identifier(text: str) -> str:
    """A host's name as the wire wants it."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", text)[:64] or "agent"


def _metrics(content: Content) -> dict[str, float]:
    metrics = {n: float(v) for n, v in content.metrics.items() if 0 <= v <= 1e18}
    if content.latency is not None:
        metrics["p99_ms"] = content.latency.p99_ms
    return metrics
