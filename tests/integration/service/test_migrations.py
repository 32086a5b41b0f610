"""Two programs that migrate at the same time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lutra_service.db import migrate
from lutra_service.db.schema.engine import make_engine

from tests.support.waiting import PATIENCE_S

pytestmark = [pytest.mark.engine, pytest.mark.thorough]


def together(url: str) -> list[int]:
    program = [sys.executable, "-c", "from lutra_client.commands.program import main; main(['migrate'])"]
    running = [subprocess.Popen(program, env={"LUTRA_DATABASE_URL": url}) for _ in range(2)]
    return [process.wait(PATIENCE_S) for process in running]


def test_two_migrations_at_once_of_an_empty_postgresql_are_one(empty_postgres_url: str) -> None:
    assert together(empty_postgres_url) == [0, 0]
    engine = make_engine(empty_postgres_url)
    assert not migrate.pending(engine)
    engine.dispose()


def test_two_migrations_at_once_of_an_empty_sqlite_are_one(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lutra.db"
    assert together(url) == [0, 0]
    engine = make_engine(url)
    assert not migrate.pending(engine)
    engine.dispose()
