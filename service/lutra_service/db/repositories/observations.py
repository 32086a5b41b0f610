"""Everything that was measured, over all sessions and databases, in the order in which it was stored.

The documents of a row stay text: an export of a hundred thousand of them passes most of it on unchanged.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

from sqlalchemy import Select, Text, and_, func, or_, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session

from lutra_service.db.schema.records import Observed, Selection
from lutra_service.db.schema.tables import DatabaseRow, ReportRow

_REPORTS = ReportRow.__table__
_DATABASES = DatabaseRow.__table__
_C = _REPORTS.c
FETCHED = 50
"""Rows that the database hands over at once."""
_PLAIN = (
    *(_C.id, _C.database_id, _C.session_id, _C.recommendation_id, _C.received_at, _C.window_start, _C.window_end),
    *(_C.windows, _C.failure, _C.p99_source, _C.p99_of, _C.ended_early),
)
_SERVER = (_DATABASES.c.engine, _DATABASES.c.engine_version, sql_cast(_DATABASES.c.host, Text).label("host"))
_TEXTS = tuple(sql_cast(_C[name], Text).label(name) for name in ("configuration", "metrics", "context"))
_KNOWN = and_(_C.configuration.is_not(None), or_(_C.window_end.is_not(None), _C.failure.is_not(None)))
"""A window, or a failure, under known settings."""


class Observations:
    def __init__(self, db: Session) -> None:
        self._db = db

    def last(self) -> int:
        """The number of the newest row of all."""
        return int(self._db.execute(select(func.coalesce(func.max(_C.id), 0))).scalar_one())

    def some(self, wanted: Selection, after: int, until: int, limit: int, most_bytes: int) -> list[Observed]:
        """Up to `limit` of those that are `wanted`, numbered above `after` and up to `until`, in order.

        Reading stops once their documents take `most_bytes`.
        """
        asked = _asked(wanted).where(_C.id > after, _C.id <= until).order_by(_C.id).limit(limit)
        found: list[Observed] = []
        size = 0
        with closing(self._db.execute(asked, execution_options={"yield_per": FETCHED})) as rows:
            for row in rows.mappings():
                found.append(Observed(**row))
                size += sum(len(row[text.name]) for text in _TEXTS)
                if size >= most_bytes:
                    break
        return found


def _asked(wanted: Selection) -> Select[Any]:
    asked = select(*_PLAIN, *_TEXTS, *_SERVER).where(_KNOWN)
    asked = asked.join_from(_REPORTS, _DATABASES, _DATABASES.c.id == _C.database_id)
    if wanted.database_id is not None:
        asked = asked.where(_C.database_id == wanted.database_id)
    if wanted.session_id is not None:
        asked = asked.where(_C.session_id == wanted.session_id)
    if wanted.engine is not None:
        asked = asked.where(_DATABASES.c.engine == wanted.engine)
    if wanted.since is not None:
        asked = asked.where(func.coalesce(_C.window_end, _C.received_at) > wanted.since)
    if wanted.until is not None:
        asked = asked.where(func.coalesce(_C.window_start, _C.received_at) < wanted.until)
    return asked
