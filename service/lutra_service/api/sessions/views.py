"""Sessions and their trials, as answers."""

from __future__ import annotations

from lutra_models.aims import Aim
from lutra_models.metrics import Limit, Objective
from lutra_models.scores import Comparison
from lutra_models.verification import Finalist, Gain, gains, gains_by_load, verdict

from lutra_service.api.databases.views import event
from lutra_service.api.recommendations import views as recommendations
from lutra_service.api.sessions.schemas import FinalistAnswer, SessionAnswer, TrialAnswer, VerificationAnswer
from lutra_service.app.tuning.record import trial_record
from lutra_service.app.tuning.record.verification import Verification
from lutra_service.app.tuning.session.progress import Progress
from lutra_service.app.workloads import benefit
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Recommendation


def session(progress: Progress) -> SessionAnswer:
    record = progress.session
    return SessionAnswer.model_validate(
        {
            "id": record.id,
            "database": record.database_id,
            "state": record.state,
            "objective": _objective(record.objective),
            "limits": [_limit(limit) for limit in record.limits],
            "mode": record.mode,
            "effective_mode": progress.effective_mode,
            "approval": record.approval,
            "max_trials": record.max_trials,
            "verification_rounds": record.verification_rounds,
            "max_changes": record.max_changes,
            "exploration": record.exploration,
            "loads": _loads(record.aim),
            "aim": record.aim and record.aim.over,
            "seed": record.seed,
            "trials_done": progress.trials_done,
            "current": progress.current,
            "incumbent": progress.incumbent,
            "handover": progress.handover,
            "for_maintenance_window": progress.for_window,
            "baseline": record.baseline,
            "server": record.identity,
            "rebased_at": record.rebased_at,
            "p99_source": record.p99_source,
            "p99_of": record.p99_of,
            "message": progress.message,
            "opened_by_agent": record.opened_by_agent,
            "measured_under": record.measured_under,
            "verification": progress.verification and verification(progress.verification),
            "leaning": _leaning(progress.leaning),
            "events": [event(e) for e in progress.events],
            "created_at": record.created_at,
            "ended_at": record.ended_at,
        }
    )


def _objective(objective: Objective) -> Document:
    return {"metric": objective.metric, "goal": objective.goal}


def _limit(limit: Limit) -> Document:
    return {"metric": limit.metric, "at_most": limit.at_most, "at_least": limit.at_least}


def _loads(aim: Aim | None) -> list[Document]:
    return [] if aim is None else [{"name": name, "weight": weight} for name, weight in aim.weights.items()]


def _leaning(comparison: Comparison) -> Document | None:
    if comparison.mean is None:
        return None
    return {
        "trials": comparison.sessions,
        "mean": comparison.mean,
        "low": comparison.low,
        "high": comparison.high,
        "level": comparison.level,
        "verdict": comparison.verdict,
        "sentence": benefit.sentence(comparison),
    }


def verification(found: Verification) -> VerificationAnswer:
    contest = found.contest
    decided = verdict(contest)
    told = {"verdict": decided.name, "sentence": decided.sentence} if decided else {"verdict": None, "sentence": ""}
    finalists = [_finalist(found, f) for f in contest.finalists]
    return VerificationAnswer.model_validate({"rounds": contest.rounds, "finalists": finalists, **told})


def _finalist(verification: Verification, finalist: Finalist) -> FinalistAnswer:
    rows = verification.of(finalist.name)
    return FinalistAnswer.model_validate(
        {
            "name": finalist.name,
            "recommendation": rows[-1].id if rows else None,
            "configuration": dict(finalist.configuration),
            "changed_settings": verification.contest.changes(finalist.name),
            "readings": [dict(r) for r in finalist.readings],
            "failed": verification.contest.out(finalist.name),
            "gains": {over: _gain(gain) for over, gain in gains(verification.contest, finalist.name).items()},
            "gains_by_load": {
                over: {load: _gain(gain) for load, gain in each.items()}
                for over, each in gains_by_load(verification.contest, finalist.name).items()
            },
        }
    )


def _gain(gain: Gain) -> Document:
    return {"median": gain.median, "low": gain.low, "high": gain.high}


def trial(record: Recommendation) -> TrialAnswer:
    proposed, measured = recommendations.proposed(record.proposal), recommendations.measured(record.measurement)
    return TrialAnswer.model_validate(
        {
            "trial": record.trial,
            "recommendation": record.id,
            "state": record.state,
            "origin": proposed["origin"],
            "configuration": proposed["configuration"],
            "changes": proposed["changes"],
            "reasons": proposed["reasons"],
            "predictions": proposed["predictions"],
            "curve": proposed["curve"],
            "measured": measured["measured"],
            "ended_early": measured["ended_early"],
            "spent_s": trial_record.spent_s(record),
            "failed": trial_record.failure(record),
            "memory": proposed["memory"],
        }
    )
