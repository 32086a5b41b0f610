"""The audit trail, of all and of one database."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from lutra_service.api.access import views
from lutra_service.api.access.audit_schemas import AuditAnswer
from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import Page, PageQuery, StoreDep, paging
from lutra_service.api.http.moments import Moment
from lutra_service.api.http.route import GuardedRoute

router = APIRouter(route_class=GuardedRoute, tags=["audit"])
Paging = Annotated[PageQuery, Depends(paging("aud"))]
Since = Annotated[Moment | None, Query(description="Only entries after this moment.")]
Action = Annotated[str | None, Query(max_length=40, description="Only this action, such as `recommendation.approve`.")]


@router.get("/v1/audit")
@allow("admin", of="service")
def list_audit(stored: StoreDep, page: Paging, action: Action = None, since: Since = None) -> Page[AuditAnswer]:
    """List all actions on databases and tokens with their actors, newest first."""
    return _listed(stored, page, None, action, since)


@router.get("/v1/databases/{database}/audit")
@allow("operate", of="database")
def list_database_audit(
    database: str, stored: StoreDep, page: Paging, action: Action = None, since: Since = None
) -> Page[AuditAnswer]:
    """List all actions on this database with their actors, newest first."""
    stored.read(lambda unit: unit.databases.get(database))
    return _listed(stored, page, database, action, since)


def _listed(
    stored: StoreDep, page: PageQuery, database: str | None, action: str | None, since: datetime | None
) -> Page[AuditAnswer]:
    found = stored.read(lambda unit: unit.audit.listed(page.limit + 1, page.after, database, action, since))
    return Page[AuditAnswer].model_validate(page.of([views.audit_entry(e) for e in found]))
