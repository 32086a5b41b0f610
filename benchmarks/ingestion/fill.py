"""Databases whose agents have reported before: rows of their own, without a request for each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from lutra_models import serial
from lutra_models.catalog import meet
from lutra_models.server import Host, Server
from lutra_service.common.ids import new_secret, secret_hash
from lutra_service.db import migrate
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.schema.records import Database, Token
from lutra_service.db.schema.rows import R, Rows, rows_of
from lutra_service.db.schema.tables import DatabaseRow, SettingsRow, TokenRow
from sqlalchemy import insert

from tests.support.service.hosted import MEMORY_BYTES, POSTGRESQL

AGENT, EPOCH, HASH = "agent1", "epoch1", "h1"
HOST = {"memory_bytes": MEMORY_BYTES, "cores": 4.0}
SERVER = Server("postgresql", "16.4", POSTGRESQL, Host(MEMORY_BYTES, 4.0))
CONFIGURATION: dict[str, Any] = dict(meet(SERVER).values)


@dataclass(frozen=True)
class Reporter:
    """A database, and the token of its agent."""

    database: str
    token: str


def fill(url: str, count: int) -> list[Reporter]:
    """`count` databases in a fresh store."""
    engine = make_engine(url)
    migrate.upgrade(engine)
    now = datetime.now(UTC) - timedelta(hours=1)
    reporters = [Reporter(f"db_{n:08d}", new_secret()) for n in range(count)]
    settings = serial.settings_to_dict(POSTGRESQL)
    for start in range(0, count, 1000):
        some = reporters[start : start + 1000]
        with engine.begin() as connection:
            connection.execute(insert(DatabaseRow), [_database(r, now) for r in some])
            connection.execute(insert(TokenRow), [_token(r, now) for r in some])
            of = {"hash": HASH, "settings": settings, "first_seen_at": now, "unreadable": None}
            connection.execute(insert(SettingsRow), [{"database_id": r.database, **of} for r in some])
    engine.dispose()
    return reporters


def report(sequence: int, at: datetime) -> dict[str, Any]:
    """One that holds a window, ten seconds after that of the number before."""
    counters = {f"view.counter_{i}_per_s": i * 1.5 for i in range(70)}
    metrics = {"qps": 900.0, "tps": 130.0, "p99_ms": 12.0, **counters}
    end = at + timedelta(seconds=10 * sequence)
    return {
        "agent": AGENT,
        "epoch": EPOCH,
        "sequence": sequence,
        "sent_at": end.isoformat(),
        "engine": SERVER.engine,
        "engine_version": SERVER.version,
        "host": HOST,
        "settings_hash": HASH,
        "window": {"start": (end - timedelta(seconds=9)).isoformat(), "end": end.isoformat()},
        "metrics": metrics,
        "p99_source": "driver",
        "p99_of": "transaction",
        "status": {"mode": "observe"},
    }


def _database(reporter: Reporter, now: datetime) -> dict[str, Any]:
    database = Database(reporter.database, reporter.database, SERVER.engine, {}, now)
    known = replace(database, host=HOST, settings_hash=HASH, reporter=f"{AGENT}/{EPOCH}", reporter_sequence=0)
    return _row(rows_of(Database), known)


def _token(reporter: Reporter, now: datetime) -> dict[str, Any]:
    token = Token(f"tok_{reporter.database}", secret_hash(reporter.token), "agent", ["agent"], reporter.database, now)
    return _row(rows_of(Token), replace(token, last_used_at=now))


def _row(rows: Rows[R], record: R) -> dict[str, Any]:
    return rows.written(rows.fields(record))
