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
    """The source of the setting: `server`, or another one, such as the host's operating system."""
    group: str
    """The group."""
    kind: Kind
    """The type of its values."""
    unit: str
    """The catalogue's unit; empty if it has none."""
    range: str
    """The ends as formulas of the host's facts, in the catalogue's unit."""
    log: bool
    """Whether it is searched on a logarithmic scale."""
    special: list[float]
    """Special values outside the range."""
    versions: str
    """The versions that have it."""
    applies: Applies | Literal["fixed"]
    """How a new value becomes active; `fixed` for a setting that cannot be changed."""
    risk: Risk
    """The risk of a change."""
    tuned_by_default: bool
    """Whether it is searched without being named in a policy."""
    rule: str | None
    """The formula of a good first value; null if there is none."""
    meaning: str
    """The meaning."""
    manual: str
    """The page of the engine's manual."""


@router.get("/v1/knobs")
@allow("read", "agent", of="any")
def list_knobs(
    engine: Annotated[str, Query(max_length=64, description="The engine.", examples=list(own_engines()))],
    version: Annotated[str | None, Query(max_length=64, description="Only settings that this version has.")] = None,
) -> Page[KnobAnswer]:
    """Every setting of an engine that Lutra knows: meaning, range, risk, restart or reload."""
    rows = [row for c in of_engine(engine) for row in (c.rows if version is None else c.rows_for(version))]
    return Page[KnobAnswer].model_validate({"items": [row.to_dict() for row in rows], "next": None})
