"""Transactions. `Store` is the only place that commits; a `UnitOfWork` is the interface of one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock
from typing import Any, TypeVar

from lutra_models.errors import LutraError
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from lutra_service.common.ids import new_id
from lutra_service.common.limits import DAILY_BYTES
from lutra_service.db.repositories.bulk import Bulk
from lutra_service.db.repositories.events import AcceptedFindings, Audit, Events, Findings
from lutra_service.db.repositories.jobs import Jobs
from lutra_service.db.repositories.ledger import Ledger
from lutra_service.db.repositories.load_hours import LoadHours
from lutra_service.db.repositories.models import ModelJobs, Models
from lutra_service.db.repositories.notices import Deliveries, Receivers
from lutra_service.db.repositories.observations import Observations
from lutra_service.db.repositories.recommendations import Recommendations, Requests, Snapshots
from lutra_service.db.repositories.registry import Answers, Databases, Tokens
from lutra_service.db.repositories.reports import Reports
from lutra_service.db.repositories.retention import RetentionRepository
from lutra_service.db.repositories.sessions import Sessions
from lutra_service.db.repositories.workloads import Workloads
from lutra_service.db.schema.dialects import BYTES
from lutra_service.db.schema.engine import IMMEDIATE
from lutra_service.db.schema.transitions import News


class CommitUnknown(LutraError):
    """The database went away during the commit, which may have succeeded or not."""

    code = "outcome_unknown"
    retry_after_s = 10


class StoreFull(LutraError):
    """The database has no room: it stored nothing."""

    code = "busy"
    retry_after_s = 5


class StoreAway(LutraError):
    """The database does not answer, or refuses the login: nothing was stored, and the request may succeed later."""

    code = "store_unavailable"
    retry_after_s = 10


log = logging.getLogger(__name__)
T = TypeVar("T")
Work = Callable[["UnitOfWork"], T]
Follow = Callable[["UnitOfWork"], None]
ATTEMPTS = 3
TURN_S = 30.0
"""The time that a writer waits for other writers."""
SQLITE_HELD = (5, 6)
"""SQLITE_BUSY and SQLITE_LOCKED, with any extension: the transaction is still open, and is rolled back."""
SQLITE_AWAY = (*SQLITE_HELD, 8, 10, 11, 14, 15, 26)
"""Also: a read-only store, an input or output error, and a file that is damaged, cannot be opened, or is not a
database.
"""
AWAY = ("08", "53", "57P", "58", "25006", "28", "3D000", "55P03")
"""Beginnings of SQLSTATEs: no connection, no room for one more, a stop, a disk that fails, a standby that takes no
writes, a refused login, no such database, a lock that others hold.
"""
NO_TABLE = "42P01"
SQLITE_FULL, DISK_FULL = 13, "53100"
COMPLETION_UNKNOWN = "40003"


def utc_now() -> datetime:
    return datetime.now(UTC)


class UnitOfWork:
    """One transaction: its moment, its repositories, and its news: its facts, and its changes for waiting requests."""

    def __init__(
        self,
        db: Session,
        now: datetime,
        daily_bytes: int = DAILY_BYTES,
        kept: dict[str, Any] | None = None,
        follow: Follow | None = None,
    ) -> None:
        """`kept` is what users of the store keep ready in this process, from one transaction to the next."""
        self.now = now
        self.kept: dict[str, Any] = {} if kept is None else kept
        self._follow = follow
        self.news = news = News(now)
        self.ledger = ledger = Ledger(db, now, daily_bytes)
        self.databases = Databases(db, news, ledger)
        self.tokens = Tokens(db, news)
        self.answers = Answers(db, news)
        self.sessions = Sessions(db, news)
        self.recommendations = Recommendations(db, news, ledger)
        self.jobs = Jobs(db, news)
        self.requests = Requests(db, news, ledger)
        self.reports = Reports(db, news, ledger)
        self.observations = Observations(db)
        self.events = Events(db, news, ledger)
        self.findings = Findings(db, news)
        self.load_hours = LoadHours(db, news)
        self.accepted = AcceptedFindings(db, news)
        self.snapshots = Snapshots(db, news, ledger)
        self.workloads = Workloads(db, news, ledger)
        self.retention = RetentionRepository(db)
        self.audit = Audit(db, news)
        self.receivers = Receivers(db, news)
        self.deliveries = Deliveries(db, news)
        self.bulk = Bulk(db, news, ledger)
        self.models = Models(db, news)
        self.model_jobs = ModelJobs(db, news)

    def new_id(self, prefix: str) -> str:
        return new_id(prefix, self.now)

    def record(self, fact: object) -> None:
        """Record a fact. Its consequences are executed once, before the commit."""
        self.news.facts.append(fact)

    def conclude(self) -> None:
        """Execute the consequences of the facts so far now, for a later read in the same transaction."""
        if self.news.facts:
            assert self._follow is not None, "this store was made without consequences"
            self._follow(self)


class Store:
    """Runs pieces of work, each in a transaction of its own, on any thread."""

    def __init__(
        self,
        engine: Engine,
        clock: Callable[[], datetime] = utc_now,
        daily_bytes: int = DAILY_BYTES,
        follow: Follow | None = None,
    ) -> None:
        """`daily_bytes`: what one database may add in a day. `follow` carries out what follows from a transaction's
        facts; without it no recommendation and no session can be made or led on.
        """
        self._reader = engine
        self._writer = engine.execution_options(**{IMMEDIATE: True})
        self._clock = clock
        self._daily_bytes = daily_bytes
        self._follow = follow
        self._kept: dict[str, Any] = {}
        # One writer at a time is all that SQLite has. Who waits for it there tries again now and then, and may starve.
        self._turn = Lock() if engine.dialect.name == "sqlite" else None
        self._away = False
        self.listeners: list[Callable[[set[str]], None]] = []

    def now(self) -> datetime:
        return self._clock()

    def read(self, work: Work[T]) -> T:
        """Raises StoreAway if the database does not answer."""
        with self._reached(), Session(self._reader) as db:
            return work(UnitOfWork(db, self._clock(), self._daily_bytes, self._kept))

    def write(self, work: Work[T]) -> T:
        """Commit the changes of `work` and notify the listeners. A transaction that lost a race runs again from its
        start.

        Raises CommitUnknown if the answer to the commit was lost: a transaction that may be stored is not repeated.
        Raises StoreFull if there is no room, and StoreAway if the database does not answer.
        """
        with self._reached():
            result, changed = self._committed(work)
        for listener in self.listeners if changed else ():
            listener(changed)
        return result

    def check(self) -> None:
        """Raises StoreAway if the database does not answer."""
        with self._reached(), self._reader.connect() as connection:
            connection.execute(text("select 1"))

    def bytes(self) -> int:
        """The size of the database on its disk."""
        with self._reached(), self._reader.connect() as connection:
            return int(connection.execute(text(BYTES[self._reader.dialect.name])).scalar_one())

    def close(self) -> None:
        self._reader.dispose()

    def _committed(self, work: Work[T]) -> tuple[T, set[str]]:
        began = time.monotonic()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._commit(work)
            except (IntegrityError, OperationalError) as error:
                if _is_full(error):
                    log.error("nothing can be stored: %s", error.orig)
                    raise StoreFull(
                        f"the service's store has no room left, and stored nothing: {error.orig}"
                    ) from error
                if attempt == ATTEMPTS or time.monotonic() - began >= TURN_S:
                    raise
        raise AssertionError("unreachable")

    def _commit(self, work: Work[T]) -> tuple[T, set[str]]:
        with self._in_turn(), Session(self._writer) as db:
            unit = UnitOfWork(db, self._clock(), self._daily_bytes, self._kept, self._follow)
            result = work(unit)
            unit.conclude()
            unit.ledger.settle()
            try:
                db.commit()
            except OperationalError as error:
                if _is_undone(error):
                    raise
                raise CommitUnknown(
                    "the connection to the database was lost before this was confirmed: check, then try again "
                    "(with an Idempotency-Key the same request is carried out once)"
                ) from error
            return result, unit.news.changed

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """Raises StoreAway if others have been writing for too long."""
        if self._turn is None:
            yield
            return
        if not self._turn.acquire(timeout=TURN_S):
            raise StoreAway(
                f"the service's store has been busy for {TURN_S:.0f} s, and stored nothing: ask again later"
            )
        try:
            yield
        finally:
            self._turn.release()

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Tell an outage of the database from a fault of the work, and write one line when it begins and one at its
        end. What began before the outage and ends well says nothing of its end.
        """
        was_away = self._away
        try:
            yield
        except (DBAPIError, PoolTimeout) as error:
            if not _is_away(error):
                raise
            why = str(getattr(error, "orig", None) or error).splitlines()[0]
            if not self._away:
                self._away = True
                log.error("the store cannot be used, and requests are answered with 503 until it can: %s", why)
            raise StoreAway("the service's store cannot be used, and nothing was stored: ask again later") from error
        if was_away and self._away:
            self._away = False
            log.warning("the store can be used again")


def _is_away(error: DBAPIError | PoolTimeout) -> bool:
    """Whether no other request would fare better: the database is gone, starts, is full of connections, or locked."""
    if isinstance(error, PoolTimeout) or error.connection_invalidated:
        return True
    if (code := getattr(error.orig, "sqlite_errorcode", None)) is not None:
        return code & 0xFF in SQLITE_AWAY or "no such table" in str(error.orig)
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return isinstance(error, InterfaceError | OperationalError)
    return bool(state.startswith((*AWAY, NO_TABLE)))


def _is_undone(error: OperationalError) -> bool:
    """Whether the database itself says that it committed nothing: a lost race, a lock that others hold, no room."""
    state = getattr(error.orig, "sqlstate", None) or ""
    busy = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in SQLITE_HELD
    return busy or _is_full(error) or (state.startswith("40") and state != COMPLETION_UNKNOWN)


def _is_full(error: IntegrityError | OperationalError) -> bool:
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    return code == SQLITE_FULL or getattr(error.orig, "sqlstate", None) == DISK_FULL
