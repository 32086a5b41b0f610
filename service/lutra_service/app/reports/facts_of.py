"""A report as it is stored: its own row, and the facts by which its database is known from then on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from lutra_models.wire import Report, ReportedWindow

from lutra_service.app.tuning.deliver.directive_holder import Holder
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Database


def until(window: ReportedWindow, now: datetime) -> datetime:
    """A clock that was temporarily ahead must not make later reports look old."""
    return min(window.end, now)


def is_latest(report: Report, database: Database, now: datetime) -> bool:
    """Whether nothing newer is known: of one agent by its sequence, for its clock may be set back; else by windows."""
    if database.reporter == str(Holder(report.agent, report.epoch)) and database.reporter_sequence is not None:
        return report.sequence >= database.reporter_sequence
    window, last = report.window, database.last_window_end
    return window is None or last is None or until(window, now) >= last


def facts(report: Report, database: Database, unreadable: Iterable[str], now: datetime) -> Document:
    """The database's facts are those of its newest report, except its settings, which may still arrive later."""
    status = report.status.model_dump(mode="json")
    left_out = [f"a setting is ignored: {why}"[:1000] for why in unreadable]
    window = report.window
    return {
        "engine_version": report.engine_version,
        "role": report.role,
        "identifier": report.identifier,
        "host": asdict(report.host),
        "peak_connections": max(report.peak_connections, database.peak_connections),
        "agent_status": {**status, "problems": [*status["problems"], *left_out]},
        "last_report_at": now,
        "reporter": str(Holder(report.agent, report.epoch)),
        "reporter_sequence": report.sequence,
        "context": dict(report.context) or database.context,
        "last_window_end": database.last_window_end if window is None else until(window, now),
    }


def row(report: Report, database_id: str, configuration: Any, now: datetime) -> dict[str, Any]:
    """The columns of a stored report that the report itself fills. `configuration`: the parsed one that was active."""
    window = report.window
    return {
        "database_id": database_id,
        "agent": report.agent,
        "epoch": report.epoch,
        "sequence": report.sequence,
        "sent_at": report.sent_at,
        "received_at": now,
        "window_start": window and window.start,
        "window_end": window and window.end,
        "settings_hash": report.settings_hash,
        "configuration": configuration,
        "metrics": dict(report.metrics),
        "texts": dict(report.texts) or None,
        "context": dict(report.context),
        "p99_source": report.p99_source,
        "p99_of": report.p99_of,
        "failure": report.failure,
        "ended_early": report.ended_early and report.ended_early.model_dump(),
        "outcomes": [o.model_dump(mode="json") for o in report.outcomes],
    }
