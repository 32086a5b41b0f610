"""Recommendations and what-ifs, as answers."""

from __future__ import annotations

from lutra_service.api.recommendations.prediction_schemas import ForLoadAnswer, NotKnownAnswer, PredictionsAnswer
from lutra_service.api.recommendations.schemas import RecommendationAnswer
from lutra_service.app.access import audit
from lutra_service.app.tuning.admit import change_set
from lutra_service.app.tuning.deliver import directives, withdrawal
from lutra_service.app.tuning.propose import answers
from lutra_service.app.tuning.propose.what_if import ForLoad, NotKnown, WhatIf
from lutra_service.app.tuning.record import trial_record
from lutra_service.common import serialize
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Decision, Delivery, Measurement, Proposal, Recommendation, Request
from lutra_service.db.store import UnitOfWork


def shown(unit: UnitOfWork, record: Recommendation) -> RecommendationAnswer:
    """Includes the reason for waiting, if any, and the name of the token that decided."""
    return RecommendationAnswer.model_validate(
        {
            "id": record.id,
            "database": record.database_id,
            "session": record.session_id,
            "parent": record.parent_id,
            "trial": record.trial,
            "kind": record.kind,
            "state": record.state,
            **_asked(record.request),
            **proposed(record.proposal),
            "leans_on": answers.leans_on(unit, record),
            "warnings": _warnings(record),
            **_decided(unit, record.decision),
            **_delivered(record.delivery),
            **measured(record.measurement),
            "confirmed_at": record.confirmed_at,
            "undone_by": record.undone_by,
            "ended_at": record.ended_at,
            "failed": trial_record.failure(record),
            "failure": record.failure and record.failure.to_dict(),
            "error": withdrawal.error(record),
            "waits": directives.waits(unit, record),
        }
    )


def _asked(request: Request) -> Document:
    return {
        "before": request.before,
        "seed": request.seed,
        "key": request.key,
        "package_version": request.package_version,
        "model": request.model_version,
        "created_at": request.created_at,
    }


def proposed(proposal: Proposal | None) -> Document:
    """Of an imported trial, which nobody proposed, only the configuration is known."""
    known = proposal if proposal is not None and proposal.proposed_at is not None else None
    return {
        "origin": proposal and proposal.origin,
        "configuration": proposal and proposal.configuration,
        "changes": known and known.changes,
        "reasons": known and known.reasons,
        "predictions": known.predictions if known else {},
        "curve": known.curve if known else [],
        "shortened_from": known and known.shortened_from,
        "must_reach": known and known.must_reach,
        "looked_at": known and known.looked_at,
        "memory": known and known.memory,
        "restart_needed": known and known.restart_needed,
        "proposed_at": known and known.proposed_at,
    }


def _warnings(record: Recommendation) -> list[str] | None:
    """What a past decision had to know is told no longer, but for what lasts."""
    if record.proposal is None or record.proposal.proposed_at is None:
        return None
    warnings = record.proposal.warnings
    return warnings if record.state in withdrawal.OPEN else change_set.lasting(warnings)


def _decided(unit: UnitOfWork, decision: Decision | None) -> Document:
    by = decision and decision.decided_by
    return {
        "decided_at": decision and decision.decided_at,
        "decided_by": by,
        "decided_by_name": by and audit.named(unit, by),
        "expires_at": decision and decision.expires_at,
        "reason": decision and decision.reason,
    }


def _delivered(delivery: Delivery | None) -> Document:
    outcome = delivery and delivery.outcome
    return {
        "handed_out_at": delivery and delivery.handed_out_at,
        "applied_at": delivery and delivery.applied_at,
        "outcome": outcome and outcome.shown,
        "withdrawn_at": delivery and delivery.withdrawn_at,
        "withdrawn_by": delivery and delivery.withdrawn_by,
    }


def measured(measurement: Measurement | None) -> Document:
    judgement = measurement and measurement.judgement
    return {
        "measured": measurement and measurement.measured,
        "ended_early": measurement and measurement.ended_early,
        "judgement": judgement and judgement.to_dict(),
    }


def what_if(answer: WhatIf) -> PredictionsAnswer:
    return PredictionsAnswer.model_validate(
        {
            "configuration": dict(answer.configuration),
            "predictions": serialize.predictions_to_dict(answer.predictions),
            "not_known": [_not_known(change) for change in answer.not_known],
            "changes": answer.changes,
            "memory": answer.memory,
            "refusal": answer.refusal,
            "warnings": answer.warnings,
            "observations": answer.observations,
            "session": answer.session_id,
            "fitted_at": answer.fitted_at,
            "record": answer.record,
            "load": answer.load and _load(answer.load),
        }
    )


def _not_known(change: NotKnown) -> NotKnownAnswer:
    return NotKnownAnswer(
        setting=change.setting,
        before=change.before,
        after=change.after,
        meaning=change.meaning,
        manual=change.manual,
        risk=change.risk,
        applies=change.applies,
        memory_bytes=change.memory_bytes,
    )


def _load(load: ForLoad) -> ForLoadAnswer:
    return ForLoadAnswer(rate_of=load.rate_of, rate=load.rate, low=load.low, high=load.high)
