"""The reports of a database's agent: its settings, its windows, and the findings in them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from lutra_models.wire import Name

from lutra_service.api.databases import server_state_schemas as schemas
from lutra_service.api.databases import views
from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import Page, PageQuery, StoreDep, paging
from lutra_service.api.http.moments import Moment
from lutra_service.api.http.route import GuardedRoute
from lutra_service.app.databases import server_state
from lutra_service.app.databases.current_server import context_of
from lutra_service.db.store import UnitOfWork

router = APIRouter(route_class=GuardedRoute, prefix="/v1/databases", tags=["databases"])

Metrics = Annotated[list[Name] | None, Query(max_length=50, description="Only these metrics; can be repeated.")]


@router.get("/{database}/settings", responses={409: {}})
@allow("read", "agent", of="database")
def list_settings(database: str, stored: StoreDep) -> Page[schemas.SettingAnswer]:
    """The settings as the agent last reported them, and which of them may move."""

    def read(unit: UnitOfWork) -> list[server_state.Setting]:
        return server_state.settings(context_of(unit, unit.databases.get(database), unit.sessions.open_one(database)))

    return Page[schemas.SettingAnswer](items=[views.setting(s) for s in stored.read(read)], next=None)


@router.get("/{database}/windows")
@allow("read", "agent", of="database")
def list_windows(
    database: str,
    stored: StoreDep,
    page: Annotated[PageQuery, Depends(paging("win", "[0-9]{1,18}"))],
    metric: Metrics = None,
    since: Annotated[Moment | None, Query(description="Only windows that ended after this moment.")] = None,
    until: Annotated[Moment | None, Query(description="Only windows that began before this moment.")] = None,
) -> Page[schemas.WindowAnswer]:
    """The measured windows, newest first: QPS, TPS, p99 with its source, counters, and the load of other programs on
    the host.
    """
    after = page.after and page.after.removeprefix(views.WINDOW)

    def read(unit: UnitOfWork) -> list[schemas.WindowAnswer]:
        found = server_state.windows(unit, database, page.limit + 1, after, since, until)
        shares = server_state.busy(unit, database, found)
        return [views.window(r, share, metric or ()) for r, share in zip(found, shares, strict=True)]

    return Page[schemas.WindowAnswer].model_validate(page.of(stored.read(read)))
