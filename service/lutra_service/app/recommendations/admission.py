"""Whether settings may be proposed for a database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Configuration

from lutra_service.app.databases.server_context import Live
from lutra_service.app.recommendations import change_set, trial_record
from lutra_service.db.store import Unit


def checked(unit: Unit, at: Live, settings: Mapping[str, Any]) -> Configuration:
    """`settings` over the current ones, complete for what may move. Raises InvalidConfiguration.

    What is active, and what was measured on this database before, is always allowed: going back is never refused.
    """
    space = at.space_with(settings)
    unknown = [n for n in settings if n not in space]
    if unknown:
        raise InvalidConfiguration("; ".join(f"{n} may not move: {_why_not(at, n)}" for n in unknown))
    wanted = at.active.restrict(space.names).replace(settings)
    if wanted == at.active.restrict(space.names) or trial_record.measured_before(unit, at.database.id, wanted):
        return space.normalise(wanted)
    refusal = change_set.memory_refusal(at, wanted)
    if refusal is not None:
        raise trial_record.refused(refusal)
    outside = {n: v for n, v in settings.items() if v != at.active[n]}
    for name, value in outside.items():
        if value not in space[name].domain:
            raise InvalidConfiguration(f"{name}: {value} is outside {space[name].domain}")
    normal = space.normalise(wanted)
    rule = space.refusal(normal)
    if rule is not None:
        raise trial_record.refused(rule)
    return normal


def _why_not(at: Live, name: str) -> str:
    setting = at.server.settings[name]
    if name in at.policy.pins:
        return f"the policy pins it to {at.policy.pins[name]}"
    if setting.shadowed:
        return f"{setting.shadowed} outranks what the agent could write"
    if setting.applies == "restart" and not at.policy.restart:
        if at.mode == "restart_in_window" and not at.windows:
            return "it needs a restart, and no maintenance window is set: PUT …/maintenance-windows sets them"
        return f"it needs a restart, which the policy or mode {at.mode} does not allow"
    return f"this server, or its policy, leaves it at {at.catalog.text(name, at.active[name], setting.unit)}"
