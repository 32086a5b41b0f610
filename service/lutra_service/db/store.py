"""Transactions. `Store` is the only place that commits; a `Unit` is what one transaction works with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

from lutra_service.db.audit import Audit
from lutra_service.db.engine import IMMEDIATE
from lutra_service.db.events import Events
from lutra_service.db.registry import Answers, Databases, Tokens
from lutra_service.db.reports import Reports
from lutra_service.db.retention import Old
from lutra_service.db.tuning import Recommendations, Requests, Sessions, Snapshots
from lutra_service.ids import new_id

T = TypeVar("T")
Work = Callable[["Unit"], T]
ATTEMPTS = 3


def utc_now() -> datetime:
    return datetime.now(UTC)


class Unit:
    """One transaction: its moment, its repositories, and the ids of what it changed for those who wait for them."""

    def __init__(self, db: Session, now: datetime) -> None:
        self.now = now
        self.changed: set[str] = set()
        self.databases = Databases(db)
        self.tokens = Tokens(db)
        self.answers = Answers(db)
        self.sessions = Sessions(db)
        self.recommendations = Recommendations(db)
        self.requests = Requests(db)
        self.reports = Reports(db)
        self.events = Events(db)
        self.snapshots = Snapshots(db)
        self.old = Old(db)
        self.audit = Audit(db)

    def new_id(self, prefix: str) -> str:
        return new_id(prefix, self.now)

    def announce(self, *ids: str | None) -> None:
        """Say, once committed, that these rows changed."""
        self.changed.update(i for i in ids if i is not None)


class Store:
    """Runs pieces of work, each in a transaction of its own, on any thread."""

    def __init__(self, engine: Engine, clock: Callable[[], datetime] = utc_now) -> None:
        self._reader = engine
        self._writer = engine.execution_options(**{IMMEDIATE: True})
        self._clock = clock
        self.listeners: list[Callable[[set[str]], None]] = []

    def read(self, work: Work[T]) -> T:
        with Session(self._reader) as db:
            return work(Unit(db, self._clock()))

    def write(self, work: Work[T]) -> T:
        """Commit what `work` did and tell the listeners. A transaction that lost a race runs again from its start."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                result, changed = self._commit(work)
            except (IntegrityError, OperationalError):
                if attempt == ATTEMPTS:
                    raise
            else:
                for listener in self.listeners if changed else ():
                    listener(changed)
                return result
        raise AssertionError("unreachable")

    def check(self) -> None:
        """Raise where the database does not answer."""
        with self._reader.connect() as connection:
            connection.execute(text("select 1"))

    def close(self) -> None:
        self._reader.dispose()

    def _commit(self, work: Work[T]) -> tuple[T, set[str]]:
        with Session(self._writer) as db:
            unit = Unit(db, self._clock())
            result = work(unit)
            db.commit()
            return result, unit.changed
