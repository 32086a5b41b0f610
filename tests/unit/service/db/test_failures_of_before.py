"""What an earlier version said in a text of why a recommendation ended is read as a code, a message and who."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lutra_service.db import migrate
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store
from sqlalchemy import text

from tests.support.engines import a_database

UNDER_WAY = "its agent is carrying it out: it is rolled back once it is applied"
AT = "2026-03-01 18:00:00.000000"
ROWS: dict[str, tuple[dict[str, Any], tuple[str, str, str | None]]] = {
    "rec_refused": ({"state": "refused", "error": "limit_exceeded: shm: full"}, ("limit_exceeded", "agent", None)),
    "rec_plain": ({"state": "rejected", "error": None}, ("rejected", "operator", None)),
    "rec_held": ({"state": "rejected", "error": UNDER_WAY}, ("rejected", "operator", None)),
    "rec_stopped": (
        {"state": "approved", "error": f"the session was stopped: {UNDER_WAY}", "withdrawn_at": AT},
        ("withdrawn", "operator", "the session was stopped"),
    ),
    "rec_lost": (
        {"state": "applied", "error": "its agent lost its state before this was confirmed; rec_1 undoes it"},
        ("state_lost", "agent", None),
    ),
    "rec_searched": (
        {"state": "failed", "error": "space_exhausted: no rule", "decided_at": None, "handed_out_at": None},
        ("space_exhausted", "worker", None),
    ),
    "rec_other": ({"state": "reverted", "error": "somebody: said so"}, ("unknown", "agent", None)),
    "rec_none": ({"state": "confirmed", "error": None}, ("", "", None)),
}
COLUMNS = {"kind": "search", "seed": 0, "package_version": "0", "before": "{}", "attempts": 0, "created_at": AT}


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.engine)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/lutra.db"
        return
    with a_database(request.getfixturevalue("store_postgres")) as url:
        yield url


def test_each_row_stays_readable(empty_url: str) -> None:
    engine = make_engine(empty_url)
    migrate.upgrade(engine, "0022")
    with engine.begin() as connection:
        insert = "INSERT INTO databases (id, name, engine, policy, created_at, peak_connections, filled_bytes) "
        connection.execute(text(insert + "VALUES ('db_1', 'shop', 'postgresql', '{}', :at, 0, 0)"), {"at": AT})
        for id_, (own, _) in ROWS.items():
            row = {
                **COLUMNS,
                "id": id_,
                "key": id_,
                "database_id": "db_1",
                "decided_at": AT,
                "handed_out_at": AT,
                **own,
            }
            marks = ", ".join(f":{name}" for name in row)
            connection.execute(text(f"INSERT INTO recommendations ({', '.join(row)}) VALUES ({marks})"), row)
    migrate.upgrade(engine)
    store = Store(engine)
    for id_, (own, (code, by, message)) in ROWS.items():
        found = store.read(lambda unit, id_=id_: unit.recommendations.get(id_))  # type: ignore[misc]
        told = found.failure
        if told is None:
            assert code == ""
            continue
        assert (told.code, told.by) == (code, by), id_
        assert message in (None, told.message)
        if own["error"] and UNDER_WAY not in own["error"]:
            assert found.error == own["error"]
    with engine.connect() as connection:
        stored = connection.execute(text("SELECT failure FROM recommendations WHERE id = 'rec_refused'")).scalar()
    document = json.loads(stored) if isinstance(stored, str) else stored
    assert document == {"code": "limit_exceeded", "message": "shm: full", "by": "agent"}
    engine.dispose()
