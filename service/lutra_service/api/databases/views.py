"""Databases, their settings, windows, events and guardrails, as answers."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from lutra_models.maintenance import MaintenanceWindow

from lutra_service.api.databases.guardrail_schemas import EventAnswer, GuardrailsBody, MaintenanceBody
from lutra_service.api.databases.schemas import DatabaseAnswer
from lutra_service.api.databases.server_state_schemas import SettingAnswer, WindowAnswer
from lutra_service.api.databases.symptom_schemas import AcceptedAnswer, EpisodeAnswer
from lutra_service.app.databases.guardrails import Maintenance, Rail, rails
from lutra_service.app.databases.server_state import Setting
from lutra_service.app.reports import reporters
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Accepted, Database, Event, Finding, StoredReport

WINDOW = "win_"
"""The prefix of a window's number, as every other id has a prefix for its kind."""


def database(record: Database, now: datetime) -> DatabaseAnswer:
    agent = record.agent_status
    if agent is not None:
        agent = {**agent, "problems": [*reporters.problems(record, now), *agent.get("problems", ())]}
    return DatabaseAnswer.model_validate(
        {
            "id": record.id,
            "name": record.name,
            "engine": record.engine,
            "engine_version": record.engine_version,
            "role": record.role,
            "label": record.label,
            "policy": record.policy,
            "host": record.host,
            "peak_connections": record.peak_connections,
            "agent": agent,
            "created_at": record.created_at,
            "last_report_at": record.last_report_at,
            "last_window_end": record.last_window_end,
            "retired_at": record.retired_at,
        }
    )


def setting(found: Setting) -> SettingAnswer:
    reported = found.reported
    return SettingAnswer.model_validate(
        {
            "setting": found.name,
            "value": found.value,
            "text": found.text,
            "unit": reported.unit,
            "applies": reported.applies,
            "source": reported.source,
            "persisted": reported.persisted,
            "shadowed": reported.shadowed,
            "unreached": reported.unreached,
            "pending_restart": reported.pending_restart,
            "not_active": found.not_active,
            "range": None if found.domain is None else str(found.domain),
        }
    )


def window(record: StoredReport, busy: float, metrics: Collection[str]) -> WindowAnswer:
    """A window with the named metrics, or with all; `busy` is the share that something else on its host took."""
    return WindowAnswer.model_validate(
        {
            "id": f"{WINDOW}{record.id}",
            "start": record.window_start,
            "end": record.window_end,
            "metrics": {n: v for n, v in record.metrics.items() if not metrics or n in metrics},
            "p99_source": record.p99_source,
            "p99_of": record.p99_of,
            "busy": busy,
            "failure": record.failure,
            "agent": record.agent,
            "session": record.session_id,
            "recommendation": record.recommendation_id,
            "windows": record.windows,
        }
    )


def event(record: Event) -> EventAnswer:
    told = record.told
    return EventAnswer.model_validate(
        {
            "id": record.id,
            "database": record.database_id,
            "session": record.session_id,
            "recommendation": record.recommendation_id,
            "guard": record.guard,
            "metric": told["metric"],
            "value": told["value"],
            "bound": told["bound"],
            "limit": told["limit"],
            "baseline": told["baseline"],
            "hold_s": told["hold_s"],
            "held_s": told["held_s"],
            "since": told["since"],
            "at": record.at,
            "received_at": record.received_at,
            "message": told["message"],
        }
    )


def guardrails(database: Database) -> GuardrailsBody:
    found = {each.guard.name: _rail(each) for each in rails(database)}
    return GuardrailsBody.model_validate({"guardrails": found, "firing": list(database.agent.firing)})


def _rail(found: Rail) -> Document:
    rail = found.rail
    own = {"limit": rail.limit, "hold_s": rail.hold_s, "enabled": rail.enabled}
    return {**own, "meaning": found.guard.meaning, "origin": found.origin}


def maintenance(found: Maintenance) -> MaintenanceBody:
    upcoming = found.next and {"start": found.next.start, "end": found.next.end}
    windows = [_maintenance_window(window) for window in found.windows]
    return MaintenanceBody.model_validate({"windows": windows, "open_until": found.open_until, "next": upcoming})


def _maintenance_window(window: MaintenanceWindow) -> Document:
    weekdays = list(window.weekdays)
    return {"weekdays": weekdays, "start": window.start, "minutes": window.minutes, "zone": window.zone}


def episode(record: Finding) -> EpisodeAnswer:
    return EpisodeAnswer(
        id=record.id,
        name=record.name,
        kind=record.kind,
        strength=record.strength,
        sentence=record.sentence,
        since=record.since,
        last_seen=record.last_seen,
        gone_at=record.gone_at,
    )


def accepted(record: Accepted) -> AcceptedAnswer:
    return AcceptedAnswer(
        name=record.name,
        kind=record.kind,
        because=record.because,
        until=record.until,
        accepted_at=record.accepted_at,
        accepted_by=record.accepted_by,
    )
