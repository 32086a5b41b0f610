"""Guard events: stored once, and reported to the operator."""

from __future__ import annotations

from datetime import datetime

from lutra_service.app.access import audit
from lutra_service.app.tuning.steps.facts import GuardFired
from lutra_service.db.schema.records import Event
from lutra_service.db.store import UnitOfWork


def record(unit: UnitOfWork, fact: GuardFired) -> None:
    """An agent that died between two steps reports an event twice, under one id."""
    database, event = fact.database, fact.told
    found = unit.recommendations.find(event.directive) if event.directive else None
    recommendation = found if found is not None and found.database_id == database.id else None
    open_session = unit.sessions.open_one(database.id)
    session_id = recommendation.session_id if recommendation else open_session.id if open_session else None
    id_ = unit.new_id("ev")
    new = unit.events.add_once(
        Event(
            id=id_,
            database_id=database.id,
            session_id=session_id,
            recommendation_id=recommendation.id if recommendation else None,
            agent_event=event.id,
            guard=event.guard,
            at=event.at,
            received_at=unit.now,
            told=event.model_dump(mode="json"),
        )
    )
    if new:
        seen = {name: getattr(event, name) for name in ("metric", "value", "bound", "held_s", "message")}
        audit.guard_fired(unit, database.id, id_, event.guard, seen, recommendation)


def listed(
    unit: UnitOfWork, database_id: str, limit: int, after: str | None, since: datetime | None = None
) -> list[Event]:
    """Newest first. Raises NotFound."""
    unit.databases.get(database_id)
    return unit.events.listed(database_id, limit, after, since)
