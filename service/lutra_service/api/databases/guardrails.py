"""The protection of a database: guardrails, their events, and maintenance windows."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from lutra_models.maintenance import MaintenanceWindow

from lutra_service.api.databases import guardrail_schemas as schemas
from lutra_service.api.databases import views
from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import Page, PageQuery, StoreDep, paging
from lutra_service.api.http.moments import Moment
from lutra_service.api.http.route import GuardedRoute
from lutra_service.app.databases import guardrails
from lutra_service.app.tuning.result import host_events
from lutra_service.db.store import UnitOfWork

router = APIRouter(route_class=GuardedRoute, prefix="/v1/databases", tags=["protection"])


@router.get("/{database}/guardrails")
@allow("read", "agent", of="database")
def get_guardrails(database: str, stored: StoreDep) -> schemas.GuardrailsBody:
    """Every guard with its limit and hold time, and who set it."""
    return views.guardrails(stored.read(lambda unit: unit.databases.get(database)))


@router.put("/{database}/guardrails")
@allow("operate", of="database")
def set_guardrails(database: str, body: schemas.GuardrailsBody, stored: StoreDep) -> schemas.GuardrailsBody:
    """Replace the guardrails that were set here before. The agent keeps them on its own disk. You can edit the answer
    of GET and send it back whole: a guardrail with the `origin` agent or default and unchanged values keeps that
    origin.
    """
    wanted = {name: (rail.of_core(), rail.origin) for name, rail in body.guardrails.items()}
    return views.guardrails(stored.write(lambda unit: guardrails.set_guardrails(unit, database, wanted)))


@router.get("/{database}/events")
@allow("read", "agent", of="database")
def list_events(
    database: str,
    stored: StoreDep,
    page: Annotated[PageQuery, Depends(paging("ev"))],
    since: Annotated[Moment | None, Query(description="Only events after this moment.")] = None,
) -> Page[schemas.EventAnswer]:
    """Guards that fired, with the figures, newest first."""
    found = stored.read(lambda unit: host_events.listed(unit, database, page.limit + 1, page.after, since))
    return Page[schemas.EventAnswer].model_validate(page.of([views.event(e) for e in found]))


@router.get("/{database}/maintenance-windows")
@allow("read", "agent", of="database")
def get_maintenance_windows(database: str, stored: StoreDep) -> schemas.MaintenanceBody:
    """The windows in which a restart is allowed, in mode restart_in_window."""
    return stored.read(lambda unit: _shown(unit, database))


@router.put("/{database}/maintenance-windows")
@allow("operate", of="database")
def set_maintenance_windows(database: str, body: schemas.MaintenanceBody, stored: StoreDep) -> schemas.MaintenanceBody:
    """Replace the maintenance windows. Without any, nothing is restarted in mode restart_in_window."""
    wanted = [MaintenanceWindow(tuple(w.weekdays), w.start, w.minutes, w.zone) for w in body.windows]

    def write(unit: UnitOfWork) -> schemas.MaintenanceBody:
        guardrails.set_windows(unit, database, wanted)
        return _shown(unit, database)

    return stored.write(write)


def _shown(unit: UnitOfWork, database: str) -> schemas.MaintenanceBody:
    return views.maintenance(guardrails.maintenance(unit, unit.databases.get(database)))
