"""/v1/tokens: every token, and those that are bound to no database."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response

from lutra_service.api import schemas, views
from lutra_service.api.deps import Bearer, OnlyOnce, Page, PageQuery, Stored, paging
from lutra_service.app import access
from lutra_service.db.records import Document, Token
from lutra_service.db.store import Unit

router = APIRouter(tags=["tokens"])


@router.get("/v1/tokens")
def list_all_tokens(
    stored: Stored, who: Bearer, page: Annotated[PageQuery, Depends(paging("tok"))]
) -> Page[schemas.TokenAnswer]:
    """Every token, whether it is bound to a database or to none, with its expiry and last use."""
    who.require("admin")
    found = stored.read(lambda unit: unit.tokens.listed(None, page.limit + 1, page.after))
    return Page[schemas.TokenAnswer].model_validate(page.of([views.token(t) for t in found]))


@router.post("/v1/tokens", status_code=201, response_model=schemas.NewTokenAnswer)
def create_global_token(body: schemas.NewToken, stored: Stored, who: Bearer, once: OnlyOnce, response: Response) -> Any:
    """A token that reaches every database. The secret is in this answer and nowhere else."""
    who.require("admin")

    def create(unit: Unit) -> Document:
        return _dumped(access.create_token(unit, body.name, body.scopes, None, body.expires_at))

    response.status_code, answer = stored.write(lambda unit: once(unit, 201, lambda: create(unit), secrets=("token",)))
    return answer


@router.delete("/v1/tokens/{token}")
def revoke_any_token(token: str, stored: Stored, who: Bearer) -> schemas.TokenAnswer:
    """Revoke a token, whatever it is bound to."""
    who.require("admin")
    return views.token(stored.write(lambda unit: access.revoke_token(unit, token)))


@router.post("/v1/tokens/{token}/rotate", status_code=201, response_model=schemas.NewTokenAnswer)
def rotate_any_token(
    token: str, stored: Stored, who: Bearer, once: OnlyOnce, response: Response, body: schemas.Rotation | None = None
) -> Any:
    """A new token in place of this one: the same name, scopes and database, and another secret."""
    who.require("admin")
    return _rotated(stored, once, response, token, body, None)


@router.post("/v1/databases/{database}/tokens/{token}/rotate", status_code=201, response_model=schemas.NewTokenAnswer)
def rotate_token(
    database: str,
    token: str,
    stored: Stored,
    who: Bearer,
    once: OnlyOnce,
    response: Response,
    body: schemas.Rotation | None = None,
) -> Any:
    """The same, of a token that is bound to this database."""
    who.require("admin", database_id=database)
    return _rotated(stored, once, response, token, body, database)


def _rotated(
    stored: Stored, once: OnlyOnce, response: Response, token: str, body: schemas.Rotation | None, database: str | None
) -> Document:
    asked = body or schemas.Rotation()

    def create(unit: Unit) -> Document:
        grace = timedelta(seconds=asked.grace_s)
        return _dumped(access.rotate_token(unit, token, grace, asked.expires_at, database))

    response.status_code, answer = stored.write(lambda unit: once(unit, 201, lambda: create(unit), secrets=("token",)))
    return answer


def _dumped(made: tuple[Token, str]) -> Document:
    return views.new_token(*made).model_dump(mode="json")
