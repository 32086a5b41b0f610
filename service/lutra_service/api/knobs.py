"""The catalogue."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from lutra_models.catalog import load

from lutra_service.api import schemas
from lutra_service.api.deps import Page
from lutra_service.api.http.access import allow
from lutra_service.api.http.route import GuardedRoute

router = APIRouter(route_class=GuardedRoute, tags=["knobs"])


@router.get("/v1/knobs")
@allow("read", "agent", of="any")
def list_knobs(
    engine: Annotated[str, Query(max_length=64)],
    version: Annotated[str | None, Query(max_length=64, description="Only what this version has.")] = None,
) -> Page[schemas.KnobAnswer]:
    """Every setting that Lutra knows of an engine: meaning, range, risk, restart or reload."""
    catalog = load(engine)
    rows = catalog.rows if version is None else catalog.rows_for(version)
    return Page[schemas.KnobAnswer].model_validate({"items": [row.to_dict() for row in rows], "next": None})
