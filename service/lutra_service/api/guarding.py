"""What protects a database: guardrails, their events, and maintenance windows."""

from __future__ import annotations

from fastapi import APIRouter
from lutra_models.guardrails import Guardrail
from lutra_models.maintenance import MaintenanceWindow

from lutra_service.api import guard_schemas, views
from lutra_service.api.deps import Page, Paging, Stored
from lutra_service.api.http.access import allow
from lutra_service.api.http.route import GuardedRoute
from lutra_service.app import events, rules
from lutra_service.db.store import Unit

router = APIRouter(route_class=GuardedRoute, prefix="/v1/databases", tags=["protection"])


@router.get("/{database}/guardrails")
@allow("read", "agent", of="database")
def get_guardrails(database: str, stored: Stored) -> guard_schemas.GuardrailsAnswer:
    """Every guard with its limit and hold time, and who set it."""
    return views.guardrails(stored.read(lambda unit: unit.databases.get(database)))


@router.put("/{database}/guardrails")
@allow("operate", of="database")
def set_guardrails(database: str, body: guard_schemas.GuardrailsBody, stored: Stored) -> guard_schemas.GuardrailsAnswer:
    """Set guardrails in place of those set here before. The agent keeps them on its own disk."""
    wanted = {name: Guardrail(**rail.model_dump()) for name, rail in body.guardrails.items()}
    return views.guardrails(stored.write(lambda unit: rules.set_guardrails(unit, database, wanted)))


@router.get("/{database}/events")
@allow("read", "agent", of="database")
def list_events(database: str, stored: Stored, page: Paging) -> Page[guard_schemas.EventAnswer]:
    """Guards that fired, with the figures, newest first."""
    found = stored.read(lambda unit: events.listed(unit, database, page.limit + 1, page.after))
    return Page[guard_schemas.EventAnswer].model_validate(page.of([views.event(e) for e in found]))


@router.get("/{database}/maintenance-windows")
@allow("read", "agent", of="database")
def get_maintenance_windows(database: str, stored: Stored) -> guard_schemas.MaintenanceAnswer:
    """When a restart may be, in mode restart_in_window."""
    return stored.read(lambda unit: _shown(unit, database))


@router.put("/{database}/maintenance-windows")
@allow("operate", of="database")
def set_maintenance_windows(
    database: str, body: guard_schemas.MaintenanceBody, stored: Stored
) -> guard_schemas.MaintenanceAnswer:
    """Set them in place of those before. With none, nothing is restarted in mode restart_in_window."""
    wanted = [MaintenanceWindow(tuple(w.weekdays), w.start, w.minutes, w.zone) for w in body.windows]

    def write(unit: Unit) -> guard_schemas.MaintenanceAnswer:
        rules.set_windows(unit, database, wanted)
        return _shown(unit, database)

    return stored.write(write)


def _shown(unit: Unit, database: str) -> guard_schemas.MaintenanceAnswer:
    return views.maintenance(rules.maintenance(unit, unit.databases.get(database)))
