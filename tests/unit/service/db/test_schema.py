from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from lutra_service.db import migrate
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.schema.in_use import index_concurrently
from lutra_service.db.schema.tables import Table
from sqlalchemy import Engine, inspect, text
from sqlalchemy.exc import DBAPIError

from tests.support.servers.engines import a_database

LATER = """
import sqlalchemy as sa
from alembic import op
from lutra_service.db.schema.in_use import index_concurrently

revision = "later"
down_revision = "baseline"


def upgrade() -> None:
    op.add_column("databases", sa.Column("floor", sa.Integer(), nullable=True))
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("ix_databases_floor", "databases", ["floor"])
        return
    with op.get_context().autocommit_block():
        index_concurrently(op.get_bind(), "ix_databases_floor", "databases (floor)")
"""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.engine)])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Of a database that the migrations made, and that no other test uses."""
    if request.param == "sqlite":
        made = make_engine(f"sqlite:///{tmp_path}/lutra.db")
        migrate.upgrade(made)
        yield made
        made.dispose()
        return
    with a_database(request.getfixturevalue("store_postgres")) as url:
        made = make_engine(url)
        migrate.upgrade(made)
        yield made
        made.dispose()


def add(engine: Engine, *ids: str) -> None:
    columns = "id, name, engine, policy, created_at, peak_connections, label"
    with engine.begin() as connection:
        for id_ in ids:
            values = "VALUES (:id, :id, 'any', '{}', '2027-03-01 18:00:00', 0, 'shop')"
            connection.execute(text(f"INSERT INTO databases ({columns}) {values}"), {"id": id_})


def test_the_migrations_make_the_tables_that_the_program_knows(engine: Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, Table.metadata) == []


def test_a_later_migration_keeps_every_row_and_the_earlier_program_refuses_its_schema(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(engine, "db_1")
    later = tmp_path / "migrations"
    shutil.copytree(migrate.MIGRATIONS, later)
    (later / "versions/0002_later.py").write_text(LATER)
    with monkeypatch.context() as newer:
        newer.setattr(migrate, "MIGRATIONS", later)
        assert migrate.pending(engine)
        assert [migrate.upgrade(engine), migrate.upgrade(engine)] == [True, False]
        assert not migrate.pending(engine)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT id, floor FROM databases")).all() == [("db_1", None)]
    for refused in (migrate.pending, migrate.upgrade):
        with pytest.raises(migrate.UnknownSchema, match="does not know its schema, later"):
            refused(engine)


@pytest.mark.engine
@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_an_index_whose_making_was_interrupted_is_made_once_more(engine: Engine) -> None:
    add(engine, "db_1", "db_2")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        wanted = ("uq_databases_label", "databases (label)", "UNIQUE INDEX")
        with pytest.raises(DBAPIError):
            index_concurrently(connection, *wanted)
        connection.execute(text("DELETE FROM databases WHERE id = 'db_2'"))
        index_concurrently(connection, *wanted)
        index_concurrently(connection, *wanted)
    with pytest.raises(DBAPIError):
        add(engine, "db_2")
    assert "uq_databases_label" in {index["name"] for index in inspect(engine).get_indexes("databases")}


def test_sqlite_keeps_every_acknowledged_commit(tmp_path: Path) -> None:
    engine = make_engine(f"sqlite:///{tmp_path}/lutra.db")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
