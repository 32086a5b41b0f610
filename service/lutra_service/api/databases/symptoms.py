"""The findings of a database: current ones, their history, and accepted risks."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from lutra_models.wire import Name

from lutra_service.api.databases import symptom_schemas as schemas
from lutra_service.api.databases import views
from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import Page, PageQuery, StoreDep, paging
from lutra_service.api.http.moments import Moment
from lutra_service.api.http.route import GuardedRoute
from lutra_service.app.databases import findings, symptoms
from lutra_service.app.databases.current_server import context_of
from lutra_service.db.store import UnitOfWork

router = APIRouter(route_class=GuardedRoute, prefix="/v1/databases", tags=["databases"])


@router.get("/{database}/symptoms", responses={409: {}})
@allow("read", "agent", of="database")
def list_symptoms(
    database: str,
    stored: StoreDep,
    minutes: Annotated[
        int, Query(ge=1, le=1440, description="The number of minutes before now that the windows cover.")
    ] = 60,
) -> schemas.SymptomsAnswer:
    """The symptoms in the latest windows under the active settings, the most harmful first, with their cures."""

    def read(unit: UnitOfWork) -> dict[str, Any]:
        context = context_of(unit, unit.databases.get(database), unit.sessions.open_one(database))
        return symptoms.listed(unit, context, minutes)

    return schemas.SymptomsAnswer.model_validate(stored.read(read))


@router.get("/{database}/symptoms/history")
@allow("read", "agent", of="database")
def list_symptom_history(
    database: str,
    stored: StoreDep,
    page: Annotated[PageQuery, Depends(paging("fnd"))],
    since: Annotated[Moment | None, Query(description="Only symptoms that were seen after this moment.")] = None,
    gone: Annotated[
        bool | None, Query(description="True: only symptoms that are gone. False: only current symptoms.")
    ] = None,
) -> Page[schemas.EpisodeAnswer]:
    """When each symptom was first seen, and when it was gone, newest first."""
    episodes = stored.read(lambda unit: findings.history(unit, database, page.limit + 1, page.after, since, gone))
    told = [views.episode(f) for f in episodes]
    return Page[schemas.EpisodeAnswer].model_validate(page.of(told))


@router.get("/{database}/symptoms/accepted")
@allow("read", "agent", of="database")
def list_accepted_symptoms(database: str, stored: StoreDep) -> Page[schemas.AcceptedAnswer]:
    """The accepted risks, including those whose time is over."""
    found = stored.read(lambda unit: findings.accepted(unit, database))
    told = [views.accepted(a) for a in found]
    return Page[schemas.AcceptedAnswer](items=told, next=None)


@router.put("/{database}/symptoms/accepted/{symptom}")
@allow("operate", of="database")
def accept_symptom(database: str, symptom: Name, body: schemas.AcceptBody, stored: StoreDep) -> schemas.AcceptedAnswer:
    """Accept the risk, with a reason and an end; this replaces an earlier acceptance. The symptom then comes last and
    does not fail a check. It counts again when the time is over, when the acceptance is withdrawn, or when its kind
    becomes worse.
    """
    made = stored.write(lambda unit: findings.accept(unit, database, symptom, body.because, body.until))
    return views.accepted(made)


@router.delete("/{database}/symptoms/accepted/{symptom}")
@allow("operate", of="database")
def withdraw_accepted_symptom(database: str, symptom: Name, stored: StoreDep) -> schemas.AcceptedAnswer:
    """Withdraw the acceptance: the symptom counts again."""
    return views.accepted(stored.write(lambda unit: findings.withdraw(unit, database, symptom)))
