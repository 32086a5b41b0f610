"""What is wrong with a database: now, over time, and which risks somebody takes."""

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
    minutes: Annotated[int, Query(ge=1, le=1440, description="How far back the windows reach.")] = 60,
) -> schemas.SymptomsAnswer:
    """What the latest windows under the active settings show, the most harmful first, and what would cure it."""

    def read(unit: UnitOfWork) -> dict[str, Any]:
        at = context_of(unit, unit.databases.get(database), unit.sessions.open_one(database))
        return symptoms.listed(unit, at, minutes)

    return schemas.SymptomsAnswer.model_validate(stored.read(read))


@router.get("/{database}/symptoms/history")
@allow("read", "agent", of="database")
def list_symptom_history(
    database: str,
    stored: StoreDep,
    page: Annotated[PageQuery, Depends(paging("fnd"))],
    since: Annotated[Moment | None, Query(description="Only those that showed after it.")] = None,
    gone: Annotated[bool | None, Query(description="Only those that are gone, or only those that show.")] = None,
) -> Page[schemas.EpisodeAnswer]:
    """Since when each symptom shows or showed, and when it went, newest first."""
    found = stored.read(lambda unit: findings.history(unit, database, page.limit + 1, page.after, since, gone))
    told = [views.episode(f) for f in found]
    return Page[schemas.EpisodeAnswer].model_validate(page.of(told))


@router.get("/{database}/symptoms/accepted")
@allow("read", "agent", of="database")
def list_accepted_symptoms(database: str, stored: StoreDep) -> Page[schemas.AcceptedAnswer]:
    """The risks that somebody takes, also those whose time is over."""
    found = stored.read(lambda unit: findings.accepted(unit, database))
    told = [views.accepted(a) for a in found]
    return Page[schemas.AcceptedAnswer](items=told, next=None)


@router.put("/{database}/symptoms/accepted/{symptom}")
@allow("operate", of="database")
def accept_symptom(database: str, symptom: Name, body: schemas.AcceptBody, stored: StoreDep) -> schemas.AcceptedAnswer:
    """Accept the risk for a reason and a time, in place of what was accepted before.

    The symptom then comes last and fails no check. It counts again when the time is over, when somebody withdraws this,
    or when its kind has become a worse one.
    """
    made = stored.write(lambda unit: findings.accept(unit, database, symptom, body.because, body.until))
    return views.accepted(made)


@router.delete("/{database}/symptoms/accepted/{symptom}")
@allow("operate", of="database")
def withdraw_accepted_symptom(database: str, symptom: Name, stored: StoreDep) -> schemas.AcceptedAnswer:
    """Let it count again."""
    return views.accepted(stored.write(lambda unit: findings.withdraw(unit, database, symptom)))
