"""/v1/databases and their tokens."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response

from lutra_service.api.access import views as token_views
from lutra_service.api.access.token_schemas import NewToken, NewTokenAnswer, TokenAnswer
from lutra_service.api.databases import schemas, views
from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import Bearer, IdempotencyDep, Page, PageQuery, StoreDep, Uses, paging
from lutra_service.api.http.route import GuardedRoute
from lutra_service.app.access import tokens
from lutra_service.app.databases import registration
from lutra_service.db.schema.records import Database
from lutra_service.db.store import UnitOfWork

router = APIRouter(route_class=GuardedRoute, prefix="/v1/databases")


@router.post("", status_code=201, tags=["databases"], response_model=schemas.DatabaseAnswer)
@allow("operate", of="service")
def register_database(body: schemas.NewDatabase, stored: StoreDep, once: IdempotencyDep, response: Response) -> Any:
    """Register a database server. Its agent then needs its own token."""
    response.status_code, answer = stored.write(
        lambda unit: once(
            unit,
            201,
            lambda: views.database(
                registration.register(unit, body.name, body.engine, body.policy.model_dump(mode="json"), body.label),
                unit.now,
            ).model_dump(mode="json"),
        )
    )
    return answer


@router.get("", tags=["databases"])
@allow("read", "agent", of="any")
def list_databases(
    stored: StoreDep,
    who: Bearer,
    page: Annotated[PageQuery, Depends(paging("db"))],
    name: Annotated[str | None, Query(max_length=200, description="Only the database with exactly this name.")] = None,
    retired: Annotated[bool, Query(description="The retired databases instead of those in use.")] = False,
) -> Page[schemas.DatabaseAnswer]:
    """The databases that the token reaches, the oldest first."""
    found = stored.read(lambda unit: unit.databases.listed(page.limit + 1, page.after, who.database_id, name, retired))
    return Page[schemas.DatabaseAnswer].model_validate(page.of([views.database(d, stored.now()) for d in found]))


@router.get("/{database}", tags=["databases"])
@allow("read", "agent", of="database")
def get_database(database: str, stored: StoreDep) -> schemas.DatabaseAnswer:
    """The database's policy, server and host, and its agent's newest status."""
    return views.database(stored.read(lambda unit: unit.databases.get(database)), stored.now())


@router.patch("/{database}", tags=["databases"])
@allow("operate", of="database")
def change_database(
    database: str, body: schemas.DatabasePatch, stored: StoreDep, who: Bearer
) -> schemas.DatabaseAnswer:
    """Change the policy: pins, ranges, which settings may move, durability, restart, host, the memory limit, the past.

    The label decides which databases learn from each other, so a token that is bound to one database cannot set it.
    """
    labelled = "label" in body.model_fields_set
    if labelled:
        who.require("operate")
    patch = body.policy.model_dump(mode="json", exclude_unset=True)

    def change(unit: UnitOfWork) -> Database:
        changed = registration.change_policy(unit, database, patch)
        return registration.set_label(unit, database, body.label) if labelled else changed

    return views.database(stored.write(change), stored.now())


@router.put("/{database}/retired", tags=["databases"])
@allow("operate", of="database")
def retire_database(database: str, stored: StoreDep) -> schemas.DatabaseAnswer:
    """Hide the database from lists, and refuse its agent's reports from now on. Stored data are kept. 409 while a
    session is open or an agent has a change in progress.
    """
    return views.database(stored.write(lambda unit: registration.retire(unit, database)), stored.now())


@router.delete("/{database}/retired", tags=["databases"])
@allow("operate", of="database")
def unretire_database(database: str, stored: StoreDep) -> schemas.DatabaseAnswer:
    """Put a retired database back into use. Its agent's reports are stored again."""
    return views.database(stored.write(lambda unit: registration.unretire(unit, database)), stored.now())


@router.delete("/{database}", tags=["databases"])
@allow("admin", of="database")
def delete_database(database: str, stored: StoreDep) -> schemas.DatabaseAnswer:
    """Permanently delete a retired database with its windows, sessions, recommendations, models, memory and tokens. The
    audit trail keeps its entries and records the deletion. 409 for a database that is not retired.
    """
    return views.database(registration.delete(stored, database), stored.now())


@router.post("/{database}/tokens", status_code=201, tags=["tokens"], response_model=NewTokenAnswer)
@allow("admin", of="database")
def create_token(database: str, body: NewToken, stored: StoreDep, once: IdempotencyDep, response: Response) -> Any:
    """Create a token that reaches only this database. The secret is returned only in this answer."""
    response.status_code, answer = stored.write(
        lambda unit: once(
            unit,
            201,
            lambda: token_views.new_token(
                *tokens.create_token(unit, body.name, body.scopes, database, body.expires_at)
            ).model_dump(mode="json"),
            secrets=("token",),
        )
    )
    return answer


@router.get("/{database}/tokens", tags=["tokens"])
@allow("admin", of="database")
def list_tokens(
    database: str, stored: StoreDep, uses: Uses, page: Annotated[PageQuery, Depends(paging("tok"))]
) -> Page[TokenAnswer]:
    """List the tokens of this database, the oldest first, without their secrets."""
    uses.write()
    found = stored.read(lambda unit: unit.tokens.listed(database, page.limit + 1, page.after))
    return Page[TokenAnswer].model_validate(page.of([token_views.token(t) for t in found]))


@router.delete("/{database}/tokens/{token}", tags=["tokens"])
@allow("admin", of="database")
def revoke_token(database: str, token: str, stored: StoreDep) -> TokenAnswer:
    """Permanently revoke a token. Repeating the call has no effect."""
    return token_views.token(stored.write(lambda unit: tokens.revoke_token(unit, token, database)))
