"""Whether settings may be proposed, and applied: checked for a request, a computed answer, an approval, a directive.

A return to the active settings, or to settings under which the database is known to run, is always allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lutra_models.errors import InvalidConfiguration, MemoryBudgetExceeded
from lutra_models.knobs import Configuration, KnobSpace, Refusal
from lutra_models.lifecycle import Origin
from lutra_models.lifecycle import RecommendationKind as Kind

from lutra_service.app.databases.current_server import ServerContext
from lutra_service.app.tuning.record import trial_record
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Session
from lutra_service.db.store import UnitOfWork

Known = Sequence[Mapping[str, Any]]
"""Further settings under which the database is known to run, beside the measured ones."""


def admitted(unit: UnitOfWork, context: ServerContext, settings: Mapping[str, Any], known: Known = ()) -> Configuration:
    """`settings` merged with the current ones, complete for all settings that may move. Raises InvalidConfiguration.

    The only requirement for an undo is that its settings can be moved.
    """
    space = context.space_with(settings)
    unknown = [n for n in settings if n not in space]
    if unknown:
        raise InvalidConfiguration("; ".join(f"{n} may not move: {_why_not(context, n)}" for n in unknown))
    active = context.active.restrict(space.names)
    wanted = active.replace(settings)
    if _is_way_back(unit, context.database.id, wanted, (active, *known)):
        return space.normalise(wanted)
    return _kept_to_rules(context, space, wanted)


def known_to_run(recommendation: Recommendation, session: Session | None) -> Known:
    """The configurations that were active at its request and at the beginning of its session."""
    known = [recommendation.request.before, (session.baseline if session else None) or {}]
    if recommendation.origin == Origin.CURRENT:  # `before` is what was active when it was proposed
        known.append(recommendation.configuration)
    return known


def goes_back(unit: UnitOfWork, recommendation: Recommendation, session: Session | None) -> bool:
    """Whether it leads to settings under which its database is known to run; these are never refused."""
    if recommendation.kind == Kind.ROLLBACK:
        return True
    known = known_to_run(recommendation, session)
    return _is_way_back(unit, recommendation.database_id, recommendation.configuration, known)


def leads_home(recommendation: Recommendation, session: Session | None) -> bool:
    """Whether it leads to the configuration at the beginning of its session, or returns to settings that are better
    than the current ones at comparable load: such a change is not an experiment, and guards must not undo it.

    If it needs a restart, it waits for a maintenance window, including those of the agent's own file, and is watched
    like any change.
    """
    wanted = recommendation.configuration
    if session is None or not wanted or recommendation.needs_restart:
        return False
    return recommendation.origin == Origin.RETURN or trial_record.is_baseline(session, wanted)


def _is_way_back(unit: UnitOfWork, database_id: str, wanted: Mapping[str, Any], known: Known) -> bool:
    if any(all(n in there and there[n] == v for n, v in wanted.items()) for there in known):
        return True
    return unit.recommendations.measured_under(database_id, wanted)


def _kept_to_rules(context: ServerContext, space: KnobSpace, wanted: Configuration) -> Configuration:
    """Raises InvalidConfiguration if the memory, a range or another rule does not allow it."""
    refusal = context.memory_refusal(wanted)
    if refusal is not None:
        raise _refused(refusal)
    for name, value in wanted.items():
        if value != context.active[name] and value not in space[name].domain:
            raise InvalidConfiguration(f"{name}: {value} is outside {space[name].domain}")
    normal = space.normalise(wanted)
    rule = space.refusal(normal)
    if rule is not None:
        raise _refused(rule)
    return normal


def _refused(refusal: Refusal) -> InvalidConfiguration:
    """A rule's objection as the error that its code names."""
    return (MemoryBudgetExceeded if refusal.code == "memory_budget_exceeded" else InvalidConfiguration)(refusal.message)


def _why_not(context: ServerContext, name: str) -> str:
    setting = context.server.settings[name]
    if name in context.policy.pins:
        return f"the policy pins it to {context.policy.pins[name]}"
    if setting.shadowed:
        return f"{setting.shadowed} overrides the agent's file"
    if setting.applies == "reboot":
        return "it needs a reboot of its host, which only the host's operator can do"
    if setting.applies == "restart" and not context.policy.restart:
        if context.mode == "restart_in_window" and not context.windows:
            return "it needs a restart, but no maintenance window is set: set one with PUT …/maintenance-windows"
        return f"it needs a restart, which the policy or mode {context.mode} does not allow"
    return f"this server, or its policy, keeps it at {context.live.text(name, context.active[name])}"
