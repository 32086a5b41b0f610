"""The summary of a week, of the fleet or of one database."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import Bearer, StoreDep
from lutra_service.api.http.route import GuardedRoute
from lutra_service.api.summary.schemas import SummaryAnswer
from lutra_service.app.observations import week
from lutra_service.db.store import UnitOfWork

router = APIRouter(route_class=GuardedRoute, tags=["summary"])


@router.get("/v1/summary")
@allow("read", of="any")
def get_summary(
    stored: StoreDep,
    who: Bearer,
    days: Annotated[int, Query(ge=1, le=31, description="The number of days up to now.")] = 7,
    database: Annotated[
        str | None, Query(max_length=40, description="Only this database, by its id; otherwise all that are in use.")
    ] = None,
) -> SummaryAnswer:
    """A summary of the last days, against as many days before: load and p99, changes and their effect, guards,
    findings, proposals, sessions and silent agents, of the databases that the token reaches.
    """
    only = database or who.database_id
    who.require("read", database_id=only)

    def read(unit: UnitOfWork) -> SummaryAnswer:
        if only is not None:
            unit.databases.get(only)
        return SummaryAnswer.model_validate(week.summary(unit, days, only))

    return stored.read(read)
