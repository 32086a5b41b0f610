"""What the agent is to do now: the one approved recommendation, as a directive."""

from __future__ import annotations

from lutra_models.identity import Identity
from lutra_models.maintenance import closed
from lutra_models.wire import Directive

from lutra_service.app import identities, known, rules
from lutra_service.app.deciding import BY_ITSELF
from lutra_service.app.live import effective_mode
from lutra_service.db.records import Database, Recommendation, Session
from lutra_service.db.store import Unit


def current(unit: Unit, database: Database) -> Directive | None:
    """None where nothing is approved, and where the agent would not do it: paused, or in mode observe.

    A restart waits for its maintenance window, where the mode is restart_in_window.
    """
    if (database.agent_status or {}).get("paused"):
        return None
    for recommendation in unit.recommendations.in_states(database.id, ("approved",)):
        if recommendation.expires_at is not None and recommendation.expires_at > unit.now:
            return _directive(unit, database, recommendation)
    return None


def _directive(unit: Unit, database: Database, recommendation: Recommendation) -> Directive | None:
    session = unit.sessions.get(recommendation.session_id) if recommendation.session_id else None
    mode, rollback = effective_mode(database, session), recommendation.kind == "rollback"
    told = rules.rules_of(database)
    asked = rollback and recommendation.decided_by != BY_ITSELF
    waits = mode == "restart_in_window" and bool(recommendation.restart_needed) and not asked
    if mode == "observe" or (waits and closed(told.maintenance_windows, unit.now)):
        return None
    assert recommendation.configuration is not None
    assert recommendation.expires_at is not None
    return Directive(
        id=recommendation.id,
        recommendation=recommendation.id,
        settings=recommendation.configuration,
        restart_allowed=mode in ("lab", "restart_in_window") and bool(database.policy.get("restart", True)),
        restore=going_back(unit, recommendation),
        rollback=rollback,
        measure=mode == "lab" and not rollback,
        expects=_expected(unit, recommendation, session),
        rules=told,
        expires_at=recommendation.expires_at,
    )


def _expected(unit: Unit, recommendation: Recommendation, session: Session | None) -> Identity | None:
    """An operator's rollback is for whatever server is there; the service's own is for the one that was changed."""
    if recommendation.kind != "rollback":
        return identities.expected(session) if session else None
    if recommendation.decided_by != BY_ITSELF or recommendation.parent_id is None:
        return None
    return identities.made_on(unit.recommendations.get(recommendation.parent_id))


def going_back(unit: Unit, recommendation: Recommendation) -> bool:
    """To settings that this database is known to run under, for which nothing is refused."""
    if recommendation.kind == "rollback" or recommendation.origin == "current":
        return True
    configuration = recommendation.configuration or {}
    return known.measured_before(unit, recommendation.database_id, configuration)
