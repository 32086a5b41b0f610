"""Waits of sessions, their causes, and programs such as index builds and monitoring."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.waits.blocking import BLOCKING
from lutra_agent.engines.postgresql.telemetry.waits.builds import BUILDS, SUBTRANSACTIONS
from lutra_agent.engines.postgresql.telemetry.waits.sessions import SESSIONS
from lutra_agent.engines.postgresql.telemetry.waits.watching import SERVER_LOG, WATCHING

WAITS = (BLOCKING, BUILDS, SUBTRANSACTIONS, SESSIONS, SERVER_LOG, WATCHING)
