"""Databases, their settings, windows, events and guardrails, as answers."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from lutra_service.api.databases.guardrail_schemas import EventAnswer, GuardrailsBody, MaintenanceBody
from lutra_service.api.databases.schemas import DatabaseAnswer
from lutra_service.api.databases.server_state_schemas import SettingAnswer, WindowAnswer
from lutra_service.app.databases.guardrails import Maintenance, rails
from lutra_service.app.databases.server_state import Setting
from lutra_service.app.reports import welcome
from lutra_service.db.schema.records import Database, Event, StoredReport

WINDOW = "win_"
"""Before a window's number, as every other id has its kind before it."""


def database(record: Database, now: datetime) -> DatabaseAnswer:
    fields = {n: getattr(record, n) for n in DatabaseAnswer.model_fields if n != "agent"}
    agent = record.agent_status
    if agent is not None:
        agent = {**agent, "problems": [*welcome.problems(record, now), *agent.get("problems", ())]}
    return DatabaseAnswer.model_validate({**fields, "agent": agent})


def setting(found: Setting) -> SettingAnswer:
    domain = None if found.domain is None else str(found.domain)
    own = {"setting": found.name, "value": found.value, "text": found.text, "not_active": found.not_active}
    fields = {**vars(found.reported), **own, "range": domain}
    return SettingAnswer.model_validate(fields)


def window(record: StoredReport, busy: float, metrics: Collection[str]) -> WindowAnswer:
    """With those of its metrics that are named, or with all; `busy` is what something else on its host took."""
    fields = {
        **vars(record),
        "id": f"{WINDOW}{record.id}",
        "start": record.window_start,
        "end": record.window_end,
        "busy": busy,
        "metrics": {n: v for n, v in record.metrics.items() if not metrics or n in metrics},
        "session": record.session_id,
        "recommendation": record.recommendation_id,
    }
    return WindowAnswer.model_validate(fields)


def event(record: Event) -> EventAnswer:
    ids = {"database": record.database_id, "session": record.session_id, "recommendation": record.recommendation_id}
    return EventAnswer.model_validate({**record.told, **vars(record), **ids})


def guardrails(database: Database) -> GuardrailsBody:
    found = {r.guard.name: {**vars(r.rail), "meaning": r.guard.meaning, "origin": r.origin} for r in rails(database)}
    firing = list(database.agent.firing)
    return GuardrailsBody.model_validate({"guardrails": found, "firing": firing})


def maintenance(found: Maintenance) -> MaintenanceBody:
    windows = [{**vars(w), "weekdays": list(w.weekdays)} for w in found.windows]
    upcoming = found.next and vars(found.next)
    return MaintenanceBody.model_validate({"windows": windows, "open_until": found.open_until, "next": upcoming})
