"""Recommendations and what-ifs, as answers."""

from __future__ import annotations

from lutra_service.api.recommendations.prediction_schemas import ForLoadAnswer, NotKnownAnswer, PredictionsAnswer
from lutra_service.api.recommendations.schemas import RecommendationAnswer
from lutra_service.app.access import audit
from lutra_service.app.tuning.admit import change_set
from lutra_service.app.tuning.deliver import directives, withdrawal
from lutra_service.app.tuning.propose import provenance
from lutra_service.app.tuning.propose.what_if import ForLoad, NotKnown, WhatIf
from lutra_service.app.tuning.record import trial_record
from lutra_service.common import serialize
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Recommendation
from lutra_service.db.store import UnitOfWork


def shown(unit: UnitOfWork, record: Recommendation) -> RecommendationAnswer:
    """Includes the reason why it waits, if it does, and the name of the person who decided."""
    return RecommendationAnswer.model_validate(
        {
            **_asked(record),
            **_proposed(unit, record),
            **_became(unit, record),
        }
    )


def _asked(record: Recommendation) -> Document:
    return {
        "id": record.id,
        "database": record.database_id,
        "session": record.session_id,
        "parent": record.parent_id,
        "trial": record.trial,
        "kind": record.kind,
        "origin": record.origin,
        "state": record.state,
        "before": record.before,
        "seed": record.seed,
        "key": record.key,
        "package_version": record.package_version,
        "model": record.model_version,
        "created_at": record.created_at,
    }


def _proposed(unit: UnitOfWork, record: Recommendation) -> Document:
    return {
        "configuration": record.configuration,
        "changes": record.changes,
        "reasons": record.reasons,
        "predictions": record.predictions or {},
        "curve": record.curve or [],
        "shortened_from": record.shortened_from,
        "must_reach": record.must_reach,
        "leans_on": provenance.leans_on(unit, record),
        "looked_at": record.looked_at,
        "memory": record.memory,
        "restart_needed": record.restart_needed,
        "warnings": _warnings(record),
        "proposed_at": record.proposed_at,
    }


def _warnings(record: Recommendation) -> list[str] | None:
    """What a past decision had to know is told no longer, but for what lasts."""
    warnings = record.warnings
    return warnings if record.state in withdrawal.OPEN else warnings and change_set.lasting(warnings)


def _became(unit: UnitOfWork, record: Recommendation) -> Document:
    return {
        "outcome": record.outcome and record.outcome.shown,
        "measured": record.measured,
        "ended_early": record.ended_early,
        "judgement": record.judgement and record.judgement.to_dict(),
        "failed": trial_record.failure(record),
        "failure": record.failure and record.failure.to_dict(),
        "error": withdrawal.error(record),
        "reason": record.reason,
        "waits": directives.waits(unit, record),
        "decided_at": record.decided_at,
        "decided_by": record.decided_by,
        "decided_by_name": record.decided_by and audit.named(unit, record.decided_by),
        "applied_at": record.applied_at,
        "confirmed_at": record.confirmed_at,
        "expires_at": record.expires_at,
        "ended_at": record.ended_at,
        "undone_by": record.undone_by,
        "handed_out_at": record.handed_out_at,
        "withdrawn_at": record.withdrawn_at,
        "withdrawn_by": record.withdrawn_by,
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
