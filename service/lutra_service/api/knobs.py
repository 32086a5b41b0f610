"""The catalogue."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from lutra_models.catalog import engines, load

from lutra_service.api import schemas
from lutra_service.api.deps import Bearer, Page

router = APIRouter(tags=["knobs"])


@router.get("/v1/knobs")
def list_knobs(
    who: Bearer,
    engine: Annotated[str, Query(max_length=64, description="Which kind of server.", examples=list(engines()))],
    version: Annotated[str | None, Query(max_length=64, description="Only what this version has.")] = None,
) -> Page[schemas.KnobAnswer]:
    """Every setting that Lutra knows of an engine: meaning, range, risk, restart or reload."""
    who.require("read", "agent", database_id=who.database_id)
    catalog = load(engine)
    rows = catalog.rows if version is None else catalog.rows_for(version)
    return Page[schemas.KnobAnswer].model_validate({"items": [row.to_dict() for row in rows], "next": None})
