"""Enrolments: how an agent gets its own token by one that is valid once and for a short time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Response

from lutra_service.api.access import token_schemas as schemas
from lutra_service.api.access import views
from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import Bearer, IdempotencyDep, StoreDep
from lutra_service.api.http.route import GuardedRoute
from lutra_service.app.access import tokens
from lutra_service.common.documents import Document
from lutra_service.db.store import UnitOfWork

router = APIRouter(route_class=GuardedRoute, tags=["tokens"])
BRIEFLY = schemas.NewEnrolment()


@router.post("/v1/databases/{database}/enrolments", status_code=201, response_model=schemas.NewTokenAnswer)
@allow("admin", of="database")
def create_enrolment(
    database: str, stored: StoreDep, once: IdempotencyDep, response: Response, body: schemas.NewEnrolment = BRIEFLY
) -> Any:
    """Create a token by which one agent can enrol for this database, once. Only this answer has its secret.

    A token that nobody has used can be revoked like every other one.
    """

    def create(unit: UnitOfWork) -> Document:
        lifetime = timedelta(seconds=body.lifetime_s)
        return views.new_token(*tokens.create_enrolment(unit, database, lifetime)).model_dump(mode="json")

    response.status_code, answer = stored.write(lambda unit: once(unit, 201, lambda: create(unit), secrets=("token",)))
    return answer


@router.post("/v1/enrolments")
@allow("enrol", of="any")
def enrol(stored: StoreDep, who: Bearer) -> schemas.EnrolmentAnswer:
    """Enrol an agent: exchange an enrolment's token, which ends with this call, for the agent's own token."""

    def exchange(unit: UnitOfWork) -> schemas.EnrolmentAnswer:
        made, secret = tokens.enrol(unit, who)
        return views.enrolment(unit.databases.get(str(made.database_id)), made, secret)

    return stored.write(exchange)
