"""Which server a session is for, and whether the one that its agent reports is still the same."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lutra_models.identity import Identity

from lutra_service.app.errors import Conflict
from lutra_service.db.schema.records import Database, Document, Recommendation, Session
from lutra_service.db.store import Unit


def reported(database: Database) -> Identity | None:
    """The server as its agent last reported it; None before the first report."""
    if database.host is None or database.engine_version is None:
        return None
    return Identity(
        "standby" if database.role == "standby" else "primary",
        database.engine_version,
        database.identifier or "",
        database.host["memory_bytes"],
        database.host["cores"],
    )


def expected(session: Session) -> Identity | None:
    return None if session.identity is None else Identity(**session.identity)


def made_on(applied: Recommendation) -> Identity | None:
    """The server that this recommendation was applied on."""
    server = (applied.outcome or {}).get("server")
    return server and Identity(**server)


def to_dict(identity: Identity) -> Document:
    return asdict(identity)


def change(session: Session, database: Database) -> str | None:
    """What is another thing than when the session began, in words."""
    wanted, now = expected(session), reported(database)
    if wanted is None or now is None:
        return None
    return "; ".join(wanted.differences(now)) or None


def rebased(unit: Unit, database: Database, session: Session) -> dict[str, Any]:
    """What a session is to know anew where its server became another one: baseline, identity, and from when on.

    Raises Conflict while that server is no primary.
    """
    changed = change(session, database)
    if changed is None:
        return {}
    if database.role == "standby":
        raise Conflict(f"{database.id} is a standby: {changed}; {session.id} goes on once it is a primary again")
    return {"baseline": None, "identity": None, "rebased_at": unit.now}
