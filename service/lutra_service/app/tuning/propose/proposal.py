"""A recommendation that needs no computation, stored as proposed."""

from __future__ import annotations

from lutra_models import __version__
from lutra_models.knobs import Configuration
from lutra_models.lifecycle import Origin
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.databases.current_server import ServerContext
from lutra_service.app.tuning.admit import change_set
from lutra_service.app.tuning.propose.what_if import predict
from lutra_service.common import serialize
from lutra_service.common.actor import SERVICE
from lutra_service.db.schema.recommendation import Decision, Proposal, Recommendation, Request
from lutra_service.db.schema.records import Session
from lutra_service.db.schema.transitions import Declined
from lutra_service.db.store import UnitOfWork


def propose(
    unit: UnitOfWork,
    context: ServerContext,
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
    """Store a recommendation that needs no computation, as requested by `by`; with the state APPROVED it is also
    decided.
    """
    id_ = unit.new_id("rec")
    proposal = Proposal(
        configuration=dict(configuration),
        origin=origin,
        predictions=serialize.predictions_to_dict(predict(unit, context, configuration)),
        proposed_at=unit.now,
    )
    return unit.recommendations.add(
        Recommendation(
            id=id_,
            database_id=context.database.id,
            session_id=session.id if session else None,
            parent_id=parent_id,
            trial=trial,
            kind=kind,
            state=state,
            request=change_set.asked_now(context, configuration, Request(id_, 0, __version__, {}, unit.now)),
            proposal=change_set.proposed(context, configuration, proposal),
            decision=Decision(unit.now, by) if state == State.APPROVED else None,
        ),
        by,
        declined,
    )
