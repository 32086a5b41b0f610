"""The catalogue."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from lutra_models.catalog import of_engine, own_engines
from lutra_models.catalog.rows import Kind
from lutra_models.knobs import Applies, Risk

from lutra_service.api.http.access import allow
from lutra_service.api.http.body import Answer
from lutra_service.api.http.deps import Page
from lutra_service.api.http.route import GuardedRoute

router = APIRouter(route_class=GuardedRoute, tags=["knobs"])


class KnobAnswer(Answer):
    """One setting of the catalogue."""

    name: str
    """Its name."""
    setting_source: str
    """What keeps it: `server`, or a further source, such as the host's operating system."""
    group: str
    """What it belongs to."""
    kind: Kind
    """The type of its values."""
    unit: str
    """The catalogue's unit; empty where it has none."""
    range: str
    """Formulas of the host's facts, in the catalogue's unit."""
    log: bool
    """Whether it is searched on a logarithmic scale."""
    special: list[float]
    """Values outside the range that have a meaning of their own."""
    versions: str
    """The versions that have it."""
    applies: Applies | Literal["fixed"]
    """How a new value becomes active; `fixed` for a setting that cannot be changed."""
    risk: Risk
    """What it can cost to change it."""
    tuned_by_default: bool
    """Whether it is searched without being named in a policy."""
    rule: str | None
    """The formula of a good first value; null where there is none."""
    meaning: str
    """What it does."""
    manual: str
    """The page of the engine's manual."""


@router.get("/v1/knobs")
@allow("read", "agent", of="any")
def list_knobs(
    engine: Annotated[str, Query(max_length=64, description="Which kind of server.", examples=list(own_engines()))],
    version: Annotated[str | None, Query(max_length=64, description="Only what this version has.")] = None,
) -> Page[KnobAnswer]:
    """Every setting that Lutra knows of an engine: meaning, range, risk, restart or reload."""
    rows = [row for c in of_engine(engine) for row in (c.rows if version is None else c.rows_for(version))]
    return Page[KnobAnswer].model_validate({"items": [row.to_dict() for row in rows], "next": None})
