"""Which server a session is for, and whether the one that its agent reports is still the same."""

from __future__ import annotations

from dataclasses import asdict

from lutra_models.identity import Identity

from lutra_service.db.records import Database, Document, Session


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


def to_dict(identity: Identity) -> Document:
    return asdict(identity)


def change(session: Session, database: Database) -> str | None:
    """What is another thing than when the session began, in words."""
    wanted, now = expected(session), reported(database)
    if wanted is None or now is None:
        return None
    return "; ".join(wanted.differences(now)) or None
