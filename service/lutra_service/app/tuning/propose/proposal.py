"""A recommendation that needs no computation, stored as proposed."""

from __future__ import annotations

from lutra_models import __version__
from lutra_models.knobs import Configuration
from lutra_models.lifecycle import Origin
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.databases.server_context import ServerContext
from lutra_service.app.tuning.admit import change_set
from lutra_service.app.tuning.propose.predictions import predict
from lutra_service.common import serialize
from lutra_service.common.actor import SERVICE
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Recommendation, Session
from lutra_service.db.schema.transitions import Declined
from lutra_service.db.store import UnitOfWork


def propose(
    unit: UnitOfWork,
    at: ServerContext,
    configuration: Configuration,
    *,
    kind: Kind,
    origin: Origin,
    session: Session | None = None,
    parent_id: str | None = None,
    trial: int | None = None,
    state: State = State.PROPOSED,
    by: str = SERVICE,
    declined: Declined | None = None,
) -> Recommendation:
    """Store a recommendation that needs no computing, and that `by` asked for; with the state APPROVED also decided."""
    id_ = unit.new_id("rec")
    decided: Document = {"decided_at": unit.now, "decided_by": by} if state == State.APPROVED else {}
    return unit.recommendations.add(
        Recommendation(
            id=id_,
            database_id=at.database.id,
            session_id=session.id if session else None,
            parent_id=parent_id,
            trial=trial,
            kind=kind,
            origin=origin,
            state=state,
            key=id_,
            seed=0,
            package_version=__version__,
            predictions=serialize.predictions_to_dict(predict(unit, at, configuration)),
            reasons=[],
            created_at=unit.now,
            proposed_at=unit.now,
            **decided,
            **change_set.change_details(at, configuration),
        ),
        by,
        declined,
    )
