"""The operator's rules for a database in addition to its policy: guardrails, and the times at which it may restart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal

from lutra_models.guardrails import GUARDS, Guard, GuardName, Guardrail, laid_over
from lutra_models.maintenance import Interval, MaintenanceWindow, current, following, known_zone

from lutra_service.app.access import audit
from lutra_service.app.errors import InvalidRequest
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Database
from lutra_service.db.store import UnitOfWork

Origin = Literal["service", "agent", "default"]
SERVICE: Origin = "service"


@dataclass(frozen=True)
class Rail:
    """One guard as it applies to a database. `origin` is its source: the service's operator, the agent, or a
    default.
    """

    guard: Guard
    rail: Guardrail
    origin: Origin


@dataclass(frozen=True)
class Maintenance:
    windows: tuple[MaintenanceWindow, ...]
    open_until: datetime | None
    next: Interval | None


def rails(database: Database) -> list[Rail]:
    """Every guard in the form that the agent uses once it has received it."""
    set_here = database.rules.guardrails
    told = database.agent.guardrails
    effective = laid_over(told, set_here)
    return [Rail(g, effective[g.name], _origin(g, set_here, told)) for g in GUARDS]


def set_guardrails(unit: UnitOfWork, id_: str, wanted: Mapping[GuardName, tuple[Guardrail, Origin | None]]) -> Database:
    """Replaces all that were set here before; a guard that is not named is the agent's own again.

    The same applies to a guard that is sent with a different origin and its unchanged values: it was read and sent
    back.
    """
    database = unit.databases.lock(id_)
    elsewhere = {r.guard.name: (r.rail, r.origin) for r in rails(database) if r.origin != SERVICE}
    chosen: Document = {
        name: asdict(rail) for name, (rail, origin) in wanted.items() if elsewhere.get(name) != (rail, origin)
    }
    unit.databases.change(id_, guardrails=chosen)
    audit.record(unit, "guardrails.set", id_, database.guardrails, chosen, database_id=id_)
    return unit.databases.get(id_)


def maintenance(unit: UnitOfWork, database: Database) -> Maintenance:
    windows = database.rules.maintenance_windows
    held = current(windows, unit.now)
    return Maintenance(windows, held.end if held else None, following(windows, unit.now))


def set_windows(unit: UnitOfWork, id_: str, windows: Sequence[MaintenanceWindow]) -> Database:
    """Replaces all previous ones. Raises InvalidRequest for an unknown time zone."""
    unknown = sorted({w.zone for w in windows if known_zone(w.zone) is None})
    if unknown:
        raise InvalidRequest(
            f"time zones that this machine does not have: {', '.join(unknown)}; use a name such as Europe/Berlin"
        )
    before = unit.databases.lock(id_).maintenance_windows
    after = [{**asdict(w), "weekdays": list(w.weekdays)} for w in windows]
    unit.databases.change(id_, maintenance_windows=after)
    audit.record(unit, "windows.set", id_, {"windows": before or []}, {"windows": after}, database_id=id_)
    return unit.databases.get(id_)


def _origin(guard: Guard, set_here: Mapping[GuardName, Guardrail], told: Mapping[GuardName, Guardrail]) -> Origin:
    if guard.name in set_here:
        return SERVICE
    return "agent" if told.get(guard.name, guard.default) != guard.default else "default"
