"""Recommendations and what-ifs, as answers."""

from __future__ import annotations

from dataclasses import asdict

from lutra_service.api.recommendations.prediction_schemas import PredictionsAnswer
from lutra_service.api.recommendations.schemas import RecommendationAnswer
from lutra_service.app.access import audit
from lutra_service.app.lifecycle import withdrawal
from lutra_service.app.recommendations import change_set, directives, provenance, trial_record
from lutra_service.app.recommendations.what_if import WhatIf
from lutra_service.common import serialize
from lutra_service.db.schema.records import Recommendation
from lutra_service.db.store import UnitOfWork


def shown(unit: UnitOfWork, record: Recommendation) -> RecommendationAnswer:
    """With why it waits, where it does, and the name of who decided."""
    warnings = record.warnings
    return RecommendationAnswer.model_validate(
        {
            **vars(record),
            "database": record.database_id,
            "session": record.session_id,
            "parent": record.parent_id,
            "model": record.model_version,
            "predictions": record.predictions or {},
            "curve": record.curve or [],
            "leans_on": provenance.leans_on(unit, record),
            "failed": trial_record.failure(record),
            "failure": record.failure and record.failure.to_dict(),
            "error": withdrawal.error(record),
            "outcome": record.outcome and record.outcome.shown,
            "warnings": warnings if record.state in withdrawal.OPEN else warnings and change_set.lasting(warnings),
            "waits": directives.waits(unit, record),
            "decided_by_name": record.decided_by and audit.named(unit, record.decided_by),
            "confirmed_at": record.confirmed_at,
            "undone_by": record.undone_by,
        }
    )


def what_if(answer: WhatIf) -> PredictionsAnswer:
    return PredictionsAnswer.model_validate(
        {
            **vars(answer),
            "configuration": dict(answer.configuration),
            "predictions": serialize.predictions_to_dict(answer.predictions),
            "not_known": [asdict(change) for change in answer.not_known],
            "session": answer.session_id,
            "load": answer.load and asdict(answer.load),
        }
    )
