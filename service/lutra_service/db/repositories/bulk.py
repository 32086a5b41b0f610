"""Reports that arrive together: checked and written with a few statements for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from lutra_models.lifecycle import OPEN_SESSIONS
from lutra_models.lifecycle import RecommendationState as State
from sqlalchemy import Table as SqlTable
from sqlalchemy import Text, and_, bindparam, func, insert, or_, select, union, update
from sqlalchemy.orm import Session

from lutra_service.db.repositories.ledger import Ledger
from lutra_service.db.schema.columns import among
from lutra_service.db.schema.records import Database
from lutra_service.db.schema.tables import DatabaseRow, RecommendationRow, ReportRow, SessionRow, SettingsRow
from lutra_service.db.schema.transitions import News

Key = tuple[str, str]
"""A database's id, and the hash of settings that it reported."""

_DATABASES = DatabaseRow.__table__
_RECOMMENDATIONS = RecommendationRow.__table__
_REPORTS = ReportRow.__table__
_SESSIONS = SessionRow.__table__
_SETTINGS = cast(SqlTable, SettingsRow.__table__)

# Of pairs SQLite would look at every row; two lists it looks up, and what they find besides is passed over.
_OF_KEYS = and_(among(_SETTINGS.c.database_id, "ids"), among(_SETTINGS.c.hash, "hashes"))

# Whoever holds a row is not waited for: one slow transaction must not hold up everybody's reports.
_LOCK = (
    select(_DATABASES)
    .where(among(_DATABASES.c.id, "ids"))
    .order_by(_DATABASES.c.id)
    .with_for_update(skip_locked=True, key_share=True)
)
_ACTIVE = (State.APPLIED, State.CONFIRMED)
_BUSY = union(
    select(_SESSIONS.c.database_id).where(among(_SESSIONS.c.database_id, "ids"), _SESSIONS.c.state.in_(OPEN_SESSIONS)),
    select(_RECOMMENDATIONS.c.database_id).where(
        among(_RECOMMENDATIONS.c.database_id, "ids"), _RECOMMENDATIONS.c.state.in_((State.APPROVED, State.APPLIED))
    ),
    select(_RECOMMENDATIONS.c.database_id).where(
        among(_RECOMMENDATIONS.c.database_id, "ids"),
        _RECOMMENDATIONS.c.withdrawn_at.is_not(None),
        or_(
            _RECOMMENDATIONS.c.state.in_(_ACTIVE),
            and_(
                _RECOMMENDATIONS.c.state != State.REVERTED,
                _RECOMMENDATIONS.c.outcome["state"].as_string().in_(_ACTIVE),
            ),
        ),
    ),
    select(_RECOMMENDATIONS.c.database_id).where(
        among(_RECOMMENDATIONS.c.database_id, "ids"),
        _RECOMMENDATIONS.c.state == State.CONFIRMED,
        _RECOMMENDATIONS.c.applied_at >= bindparam("since"),
        func.coalesce(_RECOMMENDATIONS.c.judgement["after"].as_integer(), 0) < bindparam("enough"),
    ),
)
_KEPT = select(_SETTINGS.c.database_id, _SETTINGS.c.hash, _SETTINGS.c.first_seen_at, _SETTINGS.c.unreadable).where(
    _OF_KEYS
)
_TEXTS = select(_SETTINGS.c.database_id, _SETTINGS.c.hash, _SETTINGS.c.settings.cast(Text)).where(_OF_KEYS)
_INSERT = insert(_REPORTS)
LEARNED = (
    "engine_version",
    "role",
    "identifier",
    "host",
    "context",
    "peak_connections",
    "settings_hash",
    "agent_status",
    "last_report_at",
    "last_window_end",
    "reporter",
    "reporter_sequence",
)
"""The data about a database in its newest report."""
_UPDATE = (
    update(_DATABASES)
    .where(_DATABASES.c.id == bindparam("database"))
    .values({name: bindparam(f"new_{name}", type_=_DATABASES.c[name].type) for name in LEARNED})
)


@dataclass(frozen=True)
class Kept:
    """Stored settings: the time of their beginning, and the unreadable ones."""

    first_seen_at: datetime
    unreadable: dict[str, str]


class Bulk:
    """The writes of one transaction for many reports."""

    def __init__(self, db: Session, news: News, ledger: Ledger) -> None:
        self._db = db
        self._news = news
        self._ledger = ledger

    def lock(self, ids: Iterable[str]) -> dict[str, Database]:
        """The databases that exist and that no other transaction has locked."""
        rows = self._db.execute(_LOCK, {"ids": sorted(set(ids))}).mappings()
        found = {row["id"]: Database(**row) for row in rows}
        for database in found.values():
            self._ledger.hold(database.id, database.filled_bytes, database.filled_at)
        return found

    def busy(self, ids: Iterable[str], since: datetime, enough: int) -> set[str]:
        """The databases for which a report may have consequences: with an open session, a change in progress, or a
        change made `since` that is judged by fewer than `enough` windows.
        """
        return set(self._db.execute(_BUSY, {"ids": list(ids), "since": since, "enough": enough}).scalars())

    def kept(self, keys: Sequence[Key]) -> dict[Key, Kept]:
        rows = self._db.execute(_KEPT, _lists(keys))
        return {(id_, hash_): Kept(since, dict(unreadable or {})) for id_, hash_, since, unreadable in rows}

    def settings(self, keys: Sequence[Key]) -> dict[Key, str]:
        """The settings themselves as JSON text, possibly with others of these databases."""
        if not keys:
            return {}
        rows = self._db.execute(_TEXTS, _lists(keys))
        return {(id_, hash_): text for id_, hash_, text in rows}

    def add(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Rows of reports, each counted against its database's quota."""
        self._db.execute(_INSERT, list(reports))
        for report in reports:
            self._ledger.add(report["database_id"], report)
            self._news.note(report["database_id"])

    def learn(self, facts: Mapping[str, Mapping[str, Any]]) -> None:
        """Set what is LEARNED of each database."""
        learned = [{"database": id_, **{f"new_{name}": of[name] for name in LEARNED}} for id_, of in facts.items()]
        if learned:
            self._db.connection().execute(_UPDATE, learned)


def _lists(keys: Sequence[Key]) -> dict[str, list[str]]:
    return {"ids": sorted({id_ for id_, _ in keys}), "hashes": sorted({hash_ for _, hash_ in keys})}
