"""Reports by the million, made by the store itself."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from lutra_models.history import TuningSession
from lutra_models.metrics import Objective
from lutra_service.app.access.tokens import Principal
from lutra_service.app.databases.registration import register
from lutra_service.app.tuning.session.sessions import open_session
from lutra_service.db.store import Store
from sqlalchemy import Engine, text

DATABASES = 100
OPERATOR = Principal("tok_filling", frozenset({"operate"}))
PORTION = 100_000
METRICS = "{" + ", ".join(f'"view.counter_{i}_per_s": {i}.5' for i in range(70)) + "}"

SERIES = {
    "sqlite": "WITH RECURSIVE s(n) AS (SELECT :first UNION ALL SELECT n + 1 FROM s WHERE n < :last) ",
    "postgresql": "WITH s AS (SELECT n FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) n) ",
}
COLUMNS = (
    "database_id, agent, epoch, sequence, sent_at, received_at, window_start, window_end, settings_hash, "
    "configuration, metrics, context, outcomes, windows"
)
VALUES = "d.id, 'agent1', 'filled', n, :at, :at, :at, :at, 'h', '{}', :metrics, '{}', '[]', 1"


def databases(store: Store) -> list[str]:
    """The same ones each time; the first has a session."""
    found = store.read(lambda unit: [d.id for d in unit.databases.listed(DATABASES, None)])
    if found:
        return found
    made = [store.write(partial(register, name=f"db{n}", engine="postgresql", policy={})).id for n in range(DATABASES)]
    asked = TuningSession(Objective("qps", "maximize"), (), "lab", "manual", 1000)
    store.write(lambda unit: open_session(unit, made[0], asked, 1, OPERATOR))
    return made


def count(engine: Engine) -> int:
    with engine.connect() as connection:
        return (
            connection.execute(text("SELECT coalesce(max(sequence), 0) FROM reports WHERE epoch = 'filled'")).scalar()
            or 0
        )


def fill(engine: Engine, reports: int, at: datetime) -> None:
    """Up to `reports` in all, in portions: an interrupted run goes on."""
    owner = "JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM databases) d"
    statement = text(
        f"INSERT INTO reports ({COLUMNS}) {SERIES[engine.dialect.name]} SELECT {VALUES} FROM s {owner} "
        f"ON d.place = s.n % {DATABASES}"
    )
    done = count(engine)
    while done < reports:
        last = min(done + PORTION, reports)
        moment = at - timedelta(seconds=(reports - last) / 10)
        shown = moment.replace(tzinfo=None) if engine.dialect.name == "sqlite" else moment
        with engine.begin() as connection:
            values = {"first": done + 1, "last": last, "at": shown, "metrics": METRICS}
            connection.execute(statement, values)
        done = last
        print(f"\r{last:,} reports", end="", flush=True)
    print()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE reports" if engine.dialect.name == "postgresql" else "ANALYZE")
