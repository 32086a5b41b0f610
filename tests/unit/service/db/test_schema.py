from __future__ import annotations

from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from lutra_service.db import migrate
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.schema.tables import Table


def test_the_migrations_make_the_tables_that_the_program_knows(url: str) -> None:
    engine = make_engine(url)
    migrate.upgrade(engine)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Table.metadata) == []
    engine.dispose()


def test_sqlite_keeps_every_acknowledged_commit(tmp_path: Path) -> None:
    engine = make_engine(f"sqlite:///{tmp_path}/lutra.db")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
