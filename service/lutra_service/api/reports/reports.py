"""The routes of agents: reports and directives."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Query, Request, Response
from lutra_models.errors import LutraError
from lutra_models.wire import Directive, Identifier, Receipt, Report

from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import NotifierDep, StoreDep, WaitSeconds
from lutra_service.api.http.route import GuardedRoute
from lutra_service.app.reports import reporters
from lutra_service.app.reports.writer import ReportWriter
from lutra_service.app.tuning.deliver import directives
from lutra_service.app.tuning.deliver.directive_holder import Holder
from lutra_service.common.telemetry import REPORTS

router = APIRouter(route_class=GuardedRoute, prefix="/v1/databases", tags=["agents"])


async def report_writer(request: Request) -> ReportWriter:
    return cast(ReportWriter, request.app.state.report_writer)


Writer = Annotated[ReportWriter, Depends(report_writer)]


@router.post("/{database}/reports", response_model=Receipt)
@allow("agent", of="database", large_body=True)
async def send_report(database: str, report: Report, writer: Writer) -> Response:
    """Store a report. Idempotent by (agent, epoch, sequence); the answer contains the current directive."""
    try:
        receipt = await writer.take(database, report)
    except LutraError:
        REPORTS.labels("refused").inc()
        raise
    REPORTS.labels("duplicate" if receipt.duplicate else "stored").inc()
    return Response(receipt.model_dump_json(), media_type="application/json")


@router.get("/{database}/directive", responses={204: {"description": "Nothing to do"}}, response_model=Directive)
@allow("agent", of="database")
async def get_directive(
    database: str,
    stored: StoreDep,
    notifier: NotifierDep,
    seconds: WaitSeconds,
    response: Response,
    agent: Annotated[
        Identifier | None,
        Query(
            description="The name of the requesting agent, as in its reports. Default: the agent that reported last."
        ),
    ] = None,
    epoch: Annotated[Identifier | None, Query(description="The epoch of its reports.")] = None,
) -> Any:
    """The directive to carry out now, for one agent at a time. With `Prefer: wait=N` the call waits for one."""
    holder = Holder(agent, epoch) if agent and epoch else None

    def look() -> Directive | None:
        if holder is not None:
            reporters.verify_welcome(stored.read(lambda unit: unit.databases.get(database)), holder, stored.now())
        found, given = stored.read(lambda unit: directives.current(unit, unit.databases.get(database), holder))
        if found is None or given:
            return found
        return stored.write(lambda unit: directives.hand_out(unit, unit.databases.lock(database), holder))

    found = await notifier.wait(database, look, seconds, "directive")
    return found or Response(status_code=204, headers=dict(response.headers))
