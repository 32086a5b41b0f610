"""The current server, as its agent last reported it, with the limits of its operator and its agent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lutra_models import serial
from lutra_models.catalog import meet
from lutra_models.catalog.readable import readable
from lutra_models.errors import NotEnoughObservations
from lutra_models.history import Mode, weaker
from lutra_models.maintenance import closed
from lutra_models.server import Host, Server

from lutra_service.app.databases.server_context import ServerContext
from lutra_service.app.errors import Conflict
from lutra_service.db.schema.records import Database, Session
from lutra_service.db.store import UnitOfWork


def server_of(unit: UnitOfWork, database: Database) -> Server:
    """The server as its agent last reported it. Raises NotEnoughObservations before the first report."""
    settings = unit.databases.settings(database.id, database.settings_hash)
    if settings is None or database.host is None or database.engine_version is None:
        raise NotEnoughObservations(f"{database.id}: no agent has reported its settings yet")
    return Server(
        database.engine,
        database.engine_version,
        readable(database.engine, serial.settings_from_dict(settings)).settings,
        Host(**database.host),
        "standby" if database.role == "standby" else "primary",
        database.peak_connections,
        database.identifier or "",
    )


def context_of(unit: UnitOfWork, database: Database, session: Session | None = None) -> ServerContext:
    """Raises NotEnoughObservations before the first report."""
    live = meet(server_of(unit, database))
    mode = effective_mode(database, session)
    policy = database.settings_policy
    windows = database.rules.maintenance_windows
    if mode == "reload_only" or (mode == "restart_in_window" and not windows):
        policy = replace(policy, restart=False)
    waits = closed(windows, unit.now) if mode == "restart_in_window" else None
    known = () if session is None or session.baseline is None else (session.baseline,)
    return ServerContext(database, live, policy, mode, windows, waits, known)


def effective_mode(database: Database, session: Session | None) -> Mode:
    """The weaker of the session's mode and the mode of the agent's own file."""
    return database.agent.mode if session is None else weaker(session.mode, database.agent.mode)


def identity_change(session: Session, database: Database) -> str | None:
    """The differences from the beginning of the session, in words."""
    wanted, now = session.identity, database.identity
    if wanted is None or now is None:
        return None
    return "; ".join(wanted.differences(now)) or None


def rebased(unit: UnitOfWork, database: Database, session: Session) -> dict[str, Any]:
    """The fields to reset in a session whose server was replaced: baseline, identity, and the time of the replacement.

    Raises Conflict while that server is not a primary.
    """
    changed = identity_change(session, database)
    if changed is None:
        return {}
    if database.role == "standby":
        raise Conflict(f"{database.id} is a standby: {changed}; {session.id} continues once it is a primary again")
    return {"baseline": None, "identity": None, "rebased_at": unit.now}
