"""One example of every schema in the OpenAPI document: a shop's database on its way through one trial."""

from __future__ import annotations

from lutra_models import __version__
from lutra_models.wire import PROTOCOL

from lutra_service.api.examples.agents import (
    directive,
    report,
    rules,
)
from lutra_service.api.examples.common import Example
from lutra_service.api.examples.databases import (
    agent,
    database,
    guardrail,
    host,
    interval,
    knob,
    measured_window,
    policy,
    reported,
    setting,
    shown_event,
    token,
    told_guardrail,
    window,
)
from lutra_service.api.examples.tuning import (
    change,
    history,
    identity,
    limit,
    memory,
    new_session,
    objective,
    outcome,
    prediction,
    reason,
    recommendation,
    session,
    term,
    trial,
    what_if,
)

problem_error: Example = {"at": "policy.memory_fraction", "message": "Input should be less than or equal to 1, got 7"}
problem: Example = {
    "type": "urn:lutra:problem:invalid_request",
    "title": "Unprocessable",
    "status": 422,
    "code": "invalid_request",
    "detail": "policy.memory_fraction: Input should be less than or equal to 1, got 7",
    "errors": [problem_error],
}

PAGED: dict[str, Example] = {
    "DatabaseAnswer": database,
    "EventAnswer": shown_event,
    "KnobAnswer": knob,
    "RecommendationAnswer": recommendation,
    "SessionAnswer": session,
    "SettingAnswer": setting,
    "TokenAnswer": token,
    "TrialAnswer": trial,
    "WindowAnswer": measured_window,
}
EXAMPLES: dict[str, Example] = {
    **PAGED,
    **{f"Page_{name}_": {"items": [example], "next": None} for name, example in PAGED.items()},
    "AgentAnswer": agent,
    "AgentStatus": agent,
    "Alive": {"status": "alive", "version": __version__},
    "Approving": {"settings": ["work_mem"]},
    "ChangeAnswer": change,
    "DatabasePatch": {"policy": {"pins": {"max_connections": 200}}},
    "Directive": directive,
    "GuardEvent": report["events"][0],
    "Guardrail": guardrail,
    "GuardrailBody": told_guardrail,
    "GuardrailsBody": {"guardrails": {"p99": told_guardrail}, "firing": []},
    "HistoryAnswer": history,
    "Host": host,
    "Identity": identity,
    "IntervalBody": interval,
    "LeftOutAnswer": prediction["record"],
    "LimitBody": limit,
    "MaintenanceBody": {"windows": [window], "open_until": None, "next": interval},
    "MaintenanceWindow": window,
    "MaintenanceWindowBody": window,
    "MemoryAnswer": memory,
    "MemoryTermAnswer": term,
    "NewDatabase": {"name": "shop", "engine": "postgresql"},
    "NewPrediction": {"settings": {"work_mem": "8MB"}, "level": 0.9},
    "NewRecommendation": {"settings": {"work_mem": "8MB"}, "approve": True},
    "NewSession": new_session,
    "NewToken": {"name": "its agent", "scopes": ["agent"]},
    "NewTokenAnswer": {**token, "token": "lutra_shown-here-and-nowhere-else"},
    "ObjectiveBody": objective,
    "Outcome": outcome,
    "PolicyBody": policy,
    "PolicyPatch": {"memory_fraction": 0.7},
    "PredictionAnswer": prediction,
    "PredictionsAnswer": what_if,
    "Problem": problem,
    "ProblemError": problem_error,
    "Readiness": {"status": "ready"},
    "ReasonAnswer": reason,
    "Receipt": {
        "protocol": PROTOCOL,
        "duplicate": False,
        "settings_wanted": False,
        "directive": directive,
        "rules": rules,
    },
    "RecordAnswer": what_if["record"]["p99_ms"],
    "RefusalAnswer": {"code": "memory_budget_exceeded", "message": "the worst case of 9.1 GB is above 6.4 GB"},
    "Report": report,
    "ReportedWindow": report["window"],
    "Rules": rules,
    "ServerSetting": reported,
}
