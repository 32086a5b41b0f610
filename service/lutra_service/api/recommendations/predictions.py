"""What-if questions: predictions for settings that are not active."""

from __future__ import annotations

from fastapi import APIRouter

from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import StoreDep
from lutra_service.api.http.route import GuardedRoute
from lutra_service.api.recommendations import prediction_schemas as schemas
from lutra_service.api.recommendations import views
from lutra_service.api.recommendations.schemas import MemoryAnswer
from lutra_service.app.databases.current_server import context_of
from lutra_service.app.tuning.admit.change_set import memory_sum
from lutra_service.app.tuning.propose.what_if import WhatIf, what_if
from lutra_service.common.documents import Document
from lutra_service.db.store import UnitOfWork

router = APIRouter(route_class=GuardedRoute, tags=["predictions"])


@router.post("/v1/databases/{database}/predictions")
@allow("read", "agent", of="database")
def predict(database: str, body: schemas.NewPrediction, stored: StoreDep) -> schemas.PredictionsAnswer:
    """The predicted p99 and QPS of `settings` merged with the current ones, with the accuracy of past predictions. They
    apply to the current load, or to the given `rate`.
    """

    def answer(unit: UnitOfWork) -> WhatIf:
        found = unit.databases.get(database)
        context = context_of(unit, found, unit.sessions.open_one(database))
        return what_if(unit, context, body.settings, body.level, body.rate)

    return views.what_if(stored.read(answer))


@router.get("/v1/databases/{database}/memory", responses={409: {}})
@allow("read", "agent", of="database")
def get_memory(database: str, stored: StoreDep) -> MemoryAnswer:
    """The server's memory under the active settings, line by line, as the policy counts it."""

    def read(unit: UnitOfWork) -> Document:
        context = context_of(unit, unit.databases.get(database), unit.sessions.open_one(database))
        return memory_sum(context, {})

    return MemoryAnswer.model_validate(stored.read(read))
