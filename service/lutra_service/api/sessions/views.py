"""Sessions and their trials, as answers."""

from __future__ import annotations

from lutra_service.api.databases.views import event
from lutra_service.api.sessions.schemas import SessionAnswer, TrialAnswer
from lutra_service.app.recommendations import trial_record
from lutra_service.app.sessions.progress import Progress
from lutra_service.db.schema.records import Recommendation


def session(progress: Progress) -> SessionAnswer:
    record = progress.session
    return SessionAnswer.model_validate(
        {
            **vars(record),
            "database": record.database_id,
            "objective": vars(record.objective),
            "limits": [vars(limit) for limit in record.limits],
            "trials_done": progress.trials_done,
            "current": progress.current,
            "incumbent": progress.incumbent,
            "handover": progress.handover,
            "effective_mode": progress.effective_mode,
            "server": record.identity,
            "events": [event(e) for e in progress.events],
        }
    )


def trial(record: Recommendation) -> TrialAnswer:
    return TrialAnswer.model_validate(
        {
            **vars(record),
            "recommendation": record.id,
            "predictions": record.predictions or {},
            "curve": record.curve or [],
            "failed": trial_record.failure(record),
        }
    )
