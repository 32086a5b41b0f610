"""/v1/databases and their tokens."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from lutra_service.api import schemas, views
from lutra_service.api.deps import Bearer, OnlyOnce, Page, Paging, Stored
from lutra_service.app import access, registry
from lutra_service.db.records import Database
from lutra_service.db.store import Unit

router = APIRouter(prefix="/v1/databases")


@router.post("", status_code=201, tags=["databases"], response_model=schemas.DatabaseAnswer)
def register_database(
    body: schemas.NewDatabase, stored: Stored, who: Bearer, once: OnlyOnce, response: Response
) -> Any:
    """Register a database server. Its agent then needs a token of its own."""
    who.require("operate")
    response.status_code, answer = stored.write(
        lambda unit: once(
            unit,
            201,
            lambda: views.database(
                registry.register(unit, body.name, body.engine, body.policy.model_dump(mode="json"), body.label)
            ).model_dump(mode="json"),
        )
    )
    return answer


@router.get("", tags=["databases"])
def list_databases(stored: Stored, who: Bearer, page: Paging) -> Page[schemas.DatabaseAnswer]:
    who.require("read", "agent", database_id=who.database_id)
    found = stored.read(lambda unit: unit.databases.listed(page.limit + 1, page.after, who.database_id))
    return Page[schemas.DatabaseAnswer].model_validate(page.of([views.database(d) for d in found]))


@router.get("/{database}", tags=["databases"])
def get_database(database: str, stored: Stored, who: Bearer) -> schemas.DatabaseAnswer:
    who.require("read", "agent", database_id=database)
    return views.database(stored.read(lambda unit: unit.databases.get(database)))


@router.patch("/{database}", tags=["databases"])
def change_database(database: str, body: schemas.DatabasePatch, stored: Stored, who: Bearer) -> schemas.DatabaseAnswer:
    """Change the policy: pins, ranges, which settings may move, durability, restart, the memory limit, the past.

    The label says which databases share what was learned, so nobody gives it who may reach one of them alone.
    """
    who.require("operate", database_id=database)
    labelled = "label" in body.model_fields_set
    if labelled:
        who.require("operate")
    patch = body.policy.model_dump(mode="json", exclude_unset=True)

    def change(unit: Unit) -> Database:
        changed = registry.change_policy(unit, database, patch)
        return registry.set_label(unit, database, body.label) if labelled else changed

    return views.database(stored.write(change))


@router.post("/{database}/tokens", status_code=201, tags=["tokens"], response_model=schemas.NewTokenAnswer)
def create_token(
    database: str, body: schemas.NewToken, stored: Stored, who: Bearer, once: OnlyOnce, response: Response
) -> Any:
    """A token that reaches this database alone. The secret is in this answer and nowhere else."""
    who.require("admin", database_id=database)
    response.status_code, answer = stored.write(
        lambda unit: once(
            unit,
            201,
            lambda: views.new_token(*access.create_token(unit, body.name, body.scopes, database)).model_dump(
                mode="json"
            ),
            secrets=("token",),
        )
    )
    return answer


@router.get("/{database}/tokens", tags=["tokens"])
def list_tokens(database: str, stored: Stored, who: Bearer, page: Paging) -> Page[schemas.TokenAnswer]:
    who.require("admin", database_id=database)
    found = stored.read(lambda unit: unit.tokens.listed(database, page.limit + 1, page.after))
    return Page[schemas.TokenAnswer].model_validate(page.of([views.token(t) for t in found]))


@router.delete("/{database}/tokens/{token}", tags=["tokens"])
def revoke_token(database: str, token: str, stored: Stored, who: Bearer) -> schemas.TokenAnswer:
    who.require("admin", database_id=database)
    return views.token(stored.write(lambda unit: access.revoke_token(unit, database, token)))
