"""/v1/tokens: every token, including those that are not bound to a database."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response

from lutra_service.api.access import token_schemas as schemas
from lutra_service.api.access import views
from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import Bearer, IdempotencyDep, Page, PageQuery, StoreDep, Uses, paging
from lutra_service.api.http.route import GuardedRoute
from lutra_service.app.access import tokens
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Token
from lutra_service.db.store import UnitOfWork

router = APIRouter(route_class=GuardedRoute, tags=["tokens"])
AT_ONCE = schemas.Rotation()


@router.get("/v1/token")
@allow(*tokens.SCOPES, of="any")
def get_own_token(who: Bearer) -> schemas.OwnTokenAnswer:
    """The token of this request: what it may do, and for which database."""
    return views.own_token(who)


@router.get("/v1/tokens")
@allow("admin", of="service")
def list_all_tokens(
    stored: StoreDep, uses: Uses, page: Annotated[PageQuery, Depends(paging("tok"))]
) -> Page[schemas.TokenAnswer]:
    """List every token, whether or not it is bound to a database, with its expiry and last use."""
    uses.write()
    found = stored.read(lambda unit: unit.tokens.listed(None, page.limit + 1, page.after))
    return Page[schemas.TokenAnswer].model_validate(page.of([views.token(t) for t in found]))


@router.post("/v1/tokens", status_code=201, response_model=schemas.NewTokenAnswer)
@allow("admin", of="service")
def create_global_token(body: schemas.NewToken, stored: StoreDep, once: IdempotencyDep, response: Response) -> Any:
    """Create a token that reaches every database. The secret is returned only in this answer."""

    def create(unit: UnitOfWork) -> Document:
        return _dumped(tokens.create_token(unit, body.name, body.scopes, None, body.expires_at))

    response.status_code, answer = stored.write(lambda unit: once(unit, 201, lambda: create(unit), secrets=("token",)))
    return answer


@router.delete("/v1/tokens/{token}")
@allow("admin", of="service")
def revoke_any_token(token: str, stored: StoreDep) -> schemas.TokenAnswer:
    """Revoke a token, whatever it is bound to."""
    return views.token(stored.write(lambda unit: tokens.revoke_token(unit, token)))


@router.post("/v1/tokens/{token}/rotate", status_code=201, response_model=schemas.NewTokenAnswer)
@allow("admin", of="service")
def rotate_any_token(
    token: str, stored: StoreDep, once: IdempotencyDep, response: Response, body: schemas.Rotation = AT_ONCE
) -> Any:
    """Replace this token with a new one: the same name, scopes and database, and a new secret."""
    return _rotated(stored, once, response, token, body, None)


@router.post("/v1/databases/{database}/tokens/{token}/rotate", status_code=201, response_model=schemas.NewTokenAnswer)
@allow("admin", of="database")
def rotate_token(
    database: str,
    token: str,
    stored: StoreDep,
    once: IdempotencyDep,
    response: Response,
    body: schemas.Rotation = AT_ONCE,
) -> Any:
    """Replace a token that is bound to this database with a new one."""
    return _rotated(stored, once, response, token, body, database)


def _rotated(
    stored: StoreDep,
    once: IdempotencyDep,
    response: Response,
    token: str,
    asked: schemas.Rotation,
    database: str | None,
) -> Document:
    def create(unit: UnitOfWork) -> Document:
        grace = timedelta(seconds=asked.grace_s)
        return _dumped(tokens.rotate_token(unit, token, grace, asked.expires_at, database))

    response.status_code, answer = stored.write(lambda unit: once(unit, 201, lambda: create(unit), secrets=("token",)))
    return answer


def _dumped(made: tuple[Token, str]) -> Document:
    return views.new_token(*made).model_dump(mode="json")
