"""What agents talk to: reports and directives."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from lutra_models.errors import LutraError
from lutra_models.wire import Directive, Receipt, Report

from lutra_service.api.deps import News, Stored, WaitSeconds
from lutra_service.api.http.access import allow
from lutra_service.api.http.route import GuardedRoute
from lutra_service.app import directives, intake
from lutra_service.telemetry import REPORTS

router = APIRouter(route_class=GuardedRoute, prefix="/v1/databases", tags=["agents"])


@router.post("/{database}/reports")
@allow("agent", of="database", large_body=True)
def post_report(database: str, report: Report, stored: Stored) -> Receipt:
    """Take a report in. Idempotent by (agent, epoch, sequence); the answer holds the current directive."""
    try:
        receipt = stored.write(lambda unit: intake.accept(unit, database, report))
    except LutraError:
        REPORTS.labels("refused").inc()
        raise
    REPORTS.labels("duplicate" if receipt.duplicate else "stored").inc()
    return receipt


@router.get("/{database}/directive", responses={204: {"description": "Nothing to do"}}, response_model=Directive)
@allow("agent", of="database")
async def get_directive(database: str, stored: Stored, news: News, seconds: WaitSeconds) -> Any:
    """The directive to carry out now. With `Prefer: wait=N` the answer waits for one."""

    def look() -> Directive | None:
        return stored.read(lambda unit: directives.current(unit, unit.databases.get(database)))

    found = await news.wait(database, look, seconds, "directive")
    return found or Response(status_code=204)
