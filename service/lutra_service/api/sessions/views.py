"""Sessions and their trials, as answers."""

from __future__ import annotations

from lutra_models.scores import Comparison
from lutra_models.verification import Finalist, gains, gains_by_load, verdict

from lutra_service.api.databases.views import event
from lutra_service.api.sessions.schemas import FinalistAnswer, SessionAnswer, TrialAnswer, VerificationAnswer
from lutra_service.app.memory import leaning
from lutra_service.app.recommendations import trial_record
from lutra_service.app.recommendations.verification import Verification
from lutra_service.app.sessions.progress import Progress
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Recommendation


def session(progress: Progress) -> SessionAnswer:
    record = progress.session
    return SessionAnswer.model_validate(
        {
            **vars(record),
            "message": progress.message,
            "database": record.database_id,
            "objective": vars(record.objective),
            "limits": [vars(limit) for limit in record.limits],
            "loads": [{"name": name, "weight": weight} for name, weight in record.aim.weights.items()]
            if record.aim
            else [],
            "aim": record.aim and record.aim.over,
            "trials_done": progress.trials_done,
            "current": progress.current,
            "incumbent": progress.incumbent,
            "handover": progress.handover,
            "for_maintenance_window": progress.for_window,
            "effective_mode": progress.effective_mode,
            "server": record.identity,
            "events": [event(e) for e in progress.events],
            "leaning": _leaning(progress.leaning),
            "verification": verification(progress.verification) if progress.verification else None,
        }
    )


def _leaning(found: Comparison) -> Document | None:
    if found.mean is None:
        return None
    told = {"trials": found.sessions, "verdict": found.verdict, "sentence": leaning.sentence(found)}
    return {**{name: getattr(found, name) for name in ("mean", "low", "high", "level")}, **told}


def verification(found: Verification) -> VerificationAnswer:
    contest = found.contest
    decided = verdict(contest)
    told = {"verdict": decided.name, "sentence": decided.sentence} if decided else {"verdict": None, "sentence": ""}
    finalists = [_finalist(found, f) for f in contest.finalists]
    return VerificationAnswer.model_validate({"rounds": contest.rounds, "finalists": finalists, **told})


def _finalist(found: Verification, finalist: Finalist) -> FinalistAnswer:
    rows = found.of(finalist.name)
    return FinalistAnswer.model_validate(
        {
            "name": finalist.name,
            "recommendation": rows[-1].id if rows else None,
            "configuration": dict(finalist.configuration),
            "changed_settings": found.contest.changes(finalist.name),
            "readings": [dict(r) for r in finalist.readings],
            "failed": found.contest.out(finalist.name),
            "gains": {over: vars(gain) for over, gain in gains(found.contest, finalist.name).items()},
            "gains_by_load": {
                over: {load: vars(gain) for load, gain in each.items()}
                for over, each in gains_by_load(found.contest, finalist.name).items()
            },
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
            "spent_s": trial_record.spent_s(record),
        }
    )
