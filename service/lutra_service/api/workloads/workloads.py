"""The memory: every workload, its lessons, and the workloads that resemble it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import Page, PageQuery, StoreDep, paging
from lutra_service.api.http.route import GuardedRoute
from lutra_service.api.workloads.schemas import AlikeAnswer, AlikeAnswers, WorkloadAnswer, WorkloadHistoryAnswer
from lutra_service.app.model_versions import serving
from lutra_service.app.observations.selection import require_engine
from lutra_service.app.workloads.choose import nearest
from lutra_service.app.workloads.lessons import shown
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Workload
from lutra_service.db.store import UnitOfWork

router = APIRouter(route_class=GuardedRoute, tags=["workloads"])
Engine = Annotated[str | None, Query(max_length=40, description="Only workloads of this engine.")]
DatabaseId = Annotated[str | None, Query(max_length=40, description="Only workloads of this database.")]
HISTORY: dict[int | str, dict[str, Any]] = {
    200: {"model": WorkloadHistoryAnswer, "description": "The history"},
}
Count = Annotated[int, Query(ge=1, le=64, description="The number of workloads to return.")]


@router.get("/v1/workloads")
@allow("read", of="service")
def list_workloads(
    stored: StoreDep,
    page: Annotated[PageQuery, Depends(paging("wl"))],
    engine: Engine = None,
    database: DatabaseId = None,
) -> Page[WorkloadAnswer]:
    """Every workload with its signature, its circumstances and its lessons, newest first."""
    require_engine(engine)

    def read(unit: UnitOfWork) -> Document:
        workloads = unit.workloads.listed(page.limit + 1, page.after, engine=engine, database_id=database)
        return page.of([WorkloadAnswer.model_validate(_told(row)) for row in workloads])

    return Page[WorkloadAnswer].model_validate(stored.read(read))


@router.get("/v1/workloads/{workload}/nearest")
@allow("read", of="service")
def list_nearest_workloads(workload: str, stored: StoreDep, count: Count = 8) -> AlikeAnswers:
    """The workloads of the same engine and metric that resemble this one most, by the rule that recommendations use.

    Here every workload counts. A recommendation uses only those that both databases' policies allow.
    """

    def read(unit: UnitOfWork) -> AlikeAnswers:
        found = nearest(unit, workload, count, serving.serving(unit).options)
        return AlikeAnswers(
            items=[
                AlikeAnswer(workload=row.id, name=row.name, distance=like.distance, agreement=like.agreement)
                for row, like in found
            ]
        )

    return stored.read(read)


@router.get("/v1/workloads/{workload}/history", responses=HISTORY)
@allow("read", of="service")
def get_workload_history(workload: str, stored: StoreDep) -> Document:
    """The measurements of the workload to which its model was fitted, including tables without a database."""
    return stored.read(lambda unit: unit.workloads.get(workload).history)


def _told(row: Workload) -> dict[str, Any]:
    teaches = row.taught is not None and row.snapshot_id is not None and row.merged_into is None
    taught = shown(row.taught)
    return {
        "id": row.id,
        "name": row.name,
        "engine": row.engine,
        "metric": row.metric,
        "database": row.database_id,
        "session": row.session_id,
        "observations": row.observations,
        "created_at": row.created_at,
        "changed_at": row.changed_at,
        "teaches": teaches,
        "merged_into": row.merged_into,
        "signature": taught["signature"],
        "context": taught["context"],
        "lessons": taught["lessons"],
    }
