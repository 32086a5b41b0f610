"""Records as answers."""

from __future__ import annotations

from collections.abc import Collection

from lutra_service.api.audit_schemas import AuditAnswer
from lutra_service.api.guard_schemas import EventAnswer, GuardrailsBody, MaintenanceBody
from lutra_service.api.prediction_schemas import PredictionsAnswer
from lutra_service.api.recommendation_schemas import RecommendationAnswer
from lutra_service.api.schemas import DatabaseAnswer, NewTokenAnswer, TokenAnswer
from lutra_service.api.seen_schemas import SettingAnswer, WindowAnswer
from lutra_service.api.session_schemas import SessionAnswer, TrialAnswer
from lutra_service.app import known, plain, rules
from lutra_service.app.predictions import WhatIf
from lutra_service.app.seen import Setting
from lutra_service.app.sessions import Progress
from lutra_service.db.records import AuditEntry, Database, Event, Recommendation, StoredReport, Token

WINDOW = "win_"
"""Before a window's number, as every other id has its kind before it."""


def database(record: Database) -> DatabaseAnswer:
    fields = {n: getattr(record, n) for n in DatabaseAnswer.model_fields if n != "agent"}
    return DatabaseAnswer.model_validate({**fields, "agent": record.agent_status})


def setting(found: Setting) -> SettingAnswer:
    domain = None if found.domain is None else str(found.domain)
    fields = {**vars(found.reported), "setting": found.name, "value": found.value, "text": found.text, "range": domain}
    return SettingAnswer.model_validate(fields)


def window(record: StoredReport, metrics: Collection[str]) -> WindowAnswer:
    """With those of its metrics that are named, or with all."""
    fields = {
        **vars(record),
        "id": f"{WINDOW}{record.id}",
        "start": record.window_start,
        "end": record.window_end,
        "metrics": {n: v for n, v in record.metrics.items() if not metrics or n in metrics},
        "session": record.session_id,
        "recommendation": record.recommendation_id,
    }
    return WindowAnswer.model_validate(fields)


def token(record: Token) -> TokenAnswer:
    return TokenAnswer.model_validate({**vars(record), "database": record.database_id})


def new_token(record: Token, secret: str) -> NewTokenAnswer:
    return NewTokenAnswer.model_validate({**vars(record), "database": record.database_id, "token": secret})


def session(progress: Progress) -> SessionAnswer:
    record = progress.session
    return SessionAnswer.model_validate(
        {
            **vars(record),
            "database": record.database_id,
            "objective": {"metric": record.objective_metric, "goal": record.objective_goal},
            "trials_done": progress.trials_done,
            "current": progress.current,
            "incumbent": progress.incumbent,
            "handover": progress.handover,
            "effective_mode": progress.effective_mode,
            "server": record.identity,
            "events": [event(e) for e in progress.events],
        }
    )


def event(record: Event) -> EventAnswer:
    ids = {"database": record.database_id, "session": record.session_id, "recommendation": record.recommendation_id}
    return EventAnswer.model_validate({**record.told, **vars(record), **ids})


def guardrails(database: Database) -> GuardrailsBody:
    found = {
        r.guard.name: {**vars(r.rail), "meaning": r.guard.meaning, "origin": r.origin} for r in rules.rails(database)
    }
    firing = (database.agent_status or {}).get("firing", [])
    return GuardrailsBody.model_validate({"guardrails": found, "firing": firing})


def maintenance(found: rules.Maintenance) -> MaintenanceBody:
    windows = [{**vars(w), "weekdays": list(w.weekdays)} for w in found.windows]
    upcoming = found.next and vars(found.next)
    return MaintenanceBody.model_validate({"windows": windows, "open_until": found.open_until, "next": upcoming})


def recommendation(record: Recommendation) -> RecommendationAnswer:
    return RecommendationAnswer.model_validate(
        {
            **vars(record),
            "database": record.database_id,
            "session": record.session_id,
            "parent": record.parent_id,
            "predictions": record.predictions or {},
            "failed": known.failure(record),
            "outcome": record.outcome and {n: v for n, v in record.outcome.items() if n != "epoch"},
        }
    )


def audit_entry(record: AuditEntry) -> AuditAnswer:
    return AuditAnswer.model_validate({**vars(record), "database": record.database_id, "token": record.token_id})


def trial(record: Recommendation) -> TrialAnswer:
    return TrialAnswer.model_validate(
        {
            **vars(record),
            "recommendation": record.id,
            "predictions": record.predictions or {},
            "failed": known.failure(record),
        }
    )


def what_if(answer: WhatIf) -> PredictionsAnswer:
    return PredictionsAnswer.model_validate(
        {
            **vars(answer),
            "configuration": dict(answer.configuration),
            "predictions": plain.predictions_to_dict(answer.predictions),
            "session": answer.session_id,
        }
    )
