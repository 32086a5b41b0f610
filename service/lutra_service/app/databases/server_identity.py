"""The server of a session, and the check whether its agent still reports the same one."""

from __future__ import annotations

from typing import Any

from lutra_service.app.errors import Conflict
from lutra_service.db.schema.records import Database, Session
from lutra_service.db.store import UnitOfWork


def change(session: Session, database: Database) -> str | None:
    """The differences from the beginning of the session, in words."""
    wanted, now = session.identity, database.identity
    if wanted is None or now is None:
        return None
    return "; ".join(wanted.differences(now)) or None


def rebased(unit: UnitOfWork, database: Database, session: Session) -> dict[str, Any]:
    """The fields to reset in a session whose server was replaced: baseline, identity, and the time of the replacement.

    Raises Conflict while that server is not a primary.
    """
    changed = change(session, database)
    if changed is None:
        return {}
    if database.role == "standby":
        raise Conflict(f"{database.id} is a standby: {changed}; {session.id} continues once it is a primary again")
    return {"baseline": None, "identity": None, "rebased_at": unit.now}
