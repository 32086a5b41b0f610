"""What a session ended on, and that it is active no longer."""

from __future__ import annotations

from lutra_models.lifecycle import SessionState

from lutra_service.app.access import audit
from lutra_service.db.schema.records import Recommendation
from lutra_service.db.store import UnitOfWork


def undone(unit: UnitOfWork, row: Recommendation, why: str) -> None:
    """`row` was undone: where its session had completed, the database is left with something else than that session
    says.
    """
    session = unit.sessions.of(row)
    if session is None or session.state != SessionState.COMPLETED or not row.changes:
        return
    names = ", ".join(c["setting"] for c in row.changes)
    ended = f" The session had ended on: {session.message}" if session.message else ""
    message = f"{why}; {names} are no longer what this session ended on.{ended}"[:1000]
    unit.sessions.step(session, SessionState.UNDONE, message=message)
    after = {"state": SessionState.UNDONE, "message": message}
    audit.record(
        unit,
        "session.undone",
        session.id,
        {"state": session.state},
        after,
        database_id=session.database_id,
        automatic=True,
    )
    unit.publish(session.id, session.database_id)
