"""The weekly summary as a notice: each receiver gets it once, whichever process of the service writes it."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from lutra_service.app.notices.outbox import notify_in_lines, wants
from lutra_service.app.observations import week, week_words
from lutra_service.db.schema.notices import Receiver
from lutra_service.db.store import Store, UnitOfWork

EVERY_S = 60.0
AT = time(8)
"""The time of day, in UTC, on Mondays."""
WITHIN = timedelta(days=1)
"""A service that is down at this time sends the summary when it is back, if that is not later."""
DAYS = 7


def send(store: Store) -> None:
    """One turn: write the summary that is due for the receivers that lack it. Without any, nothing is computed."""
    text = store.read(_text)
    if text is not None:
        store.write(lambda unit: _write(unit, text))


def due(now: datetime) -> datetime | None:
    """The moment of the newest summary; None if it is too old."""
    monday = now.date() - timedelta(days=now.weekday())
    found = datetime.combine(monday, AT, now.tzinfo)
    return found if found <= now < found + WITHIN else None


def _text(unit: UnitOfWork) -> str | None:
    moment = due(unit.now)
    if moment is None or not _lacking(unit, moment):
        return None
    return week_words.notice(week.summary(unit, DAYS))


def _write(unit: UnitOfWork, text: str) -> None:
    """For the receivers that lack it as they are now: another process may have written it meanwhile."""
    moment = due(unit.now)
    if moment is not None:
        taken = [r.id for r in _lacking(unit, moment) if unit.receivers.take_summary(r.id, moment, unit.now)]
        notify_in_lines(unit, taken, "summary", text)


def _lacking(unit: UnitOfWork, moment: datetime) -> list[Receiver]:
    """A receiver that was added later waits for the next one."""
    found = [r for r in unit.receivers.enabled() if wants(r, "summary", None)]
    return [r for r in found if (r.summary_at or r.created_at) < moment]
