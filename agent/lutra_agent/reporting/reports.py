"""Makes reports and puts them into the spool; no other code adds to it."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime

from lutra_models.errors import printable
from lutra_models.server import Server
from lutra_models.wire import AgentStatus, Report, ReportedWindow
from pydantic import ValidationError

from lutra_agent.clock import Clock
from lutra_agent.reporting.content import Content, plausible
from lutra_agent.reporting.spool import Spool
from lutra_agent.reporting.transport import encode
from lutra_agent.state.store import State

FACTS = "reported_server"
"""The file with the facts of the last report's server."""


class Reports:
    """The spool adds the number of lost reports to the agent's status."""

    def __init__(self, name: str | None, spool: Spool, state: State, clock: Clock) -> None:
        self._agent = reporting_name(name)
        self._spool = spool
        self._state = state
        self._clock = clock
        self._settings_sent: str | None = None
        self._facts: object = None

    def put(self, server: Server, content: Content, status: AgentStatus) -> None:
        """Store one report durably; the link to the service sends it."""
        facts = {
            "engine": server.engine,
            "engine_version": printable(server.version)[:64],
            "role": server.role,
            "identifier": printable(server.identifier)[:128],
            "host": asdict(server.host),
            "peak_connections": server.peak_connections,
            "settings_hash": server.settings_hash,
        }
        settings = None if server.settings_hash == self._settings_sent else dict(server.settings)
        self._append({**facts, "settings": settings}, content, status)
        self._settings_sent = server.settings_hash
        if facts != self._facts:
            self._state.save_or_hold(FACTS, facts)
            self._facts = facts

    def put_unseen(self, content: Content, status: AgentStatus) -> bool:
        """The same for a server that has not answered since the agent's start, with the facts of the last report.

        False if no report of it is known.
        """
        facts = self._state.load(FACTS)
        if not isinstance(facts, dict):
            return False
        try:
            self._append(facts, content, status)
        except ValidationError:  # whoever wrote that file was no agent of this version
            return False
        return True

    def _append(self, facts: Mapping[str, object], content: Content, status: AgentStatus) -> None:
        lost = {"spool_dropped": self._spool.dropped, "spool_refused": self._spool.refused}
        fields = {
            **facts,
            "agent": self._agent,
            "epoch": self._spool.epoch,
            "sent_at": self._sent_at(content),
            "window": content.window and ReportedWindow(start=content.window[0], end=content.window[1]),
            "metrics": _metrics(content),
            "texts": dict(content.texts),
            "p99_source": content.latency and content.latency.source,
            "p99_of": content.latency and content.latency.of,
            "context": dict(content.context),
            "measures": content.measures,
            "failure": content.failure,
            "ended_early": content.ended,
            "outcomes": list(content.outcomes),
            "events": list(content.events),
            "rolled_back": list(content.rolled_back),
            "status": status.model_copy(update=lost),
        }
        self._spool.append(lambda sequence: encode(Report.model_validate({**fields, "sequence": sequence})))

    def _sent_at(self, content: Content) -> datetime:
        """Never before the window's end, also where the clock was set back meanwhile."""
        now = self._clock.now()
        return max(now, content.window[1]) if content.window else now

    def send_settings_again(self) -> None:
        """The service does not know the settings by their hash: the next report contains them."""
        self._settings_sent = None


def reporting_name(configured: str | None) -> str:
    """The name under which an agent reports: its file's, else its host's."""
    return identifier(configured or socket.gethostname())


def identifier(text: str) -> str:
    """A host's name in the wire's form."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", text)[:64] or "agent"


def _metrics(content: Content) -> dict[str, float]:
    metrics = plausible(content.metrics)
    if content.latency is not None:
        metrics["p99_ms"] = content.latency.p99_ms
    return metrics
