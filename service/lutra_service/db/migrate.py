"""Bring a database to the newest schema. The only way a schema is made, in production and in tests.

Of several programs that do so at once one works, and the others find it done.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, text

from lutra_service.db.engine import IMMEDIATE, tighten

LOCK = 0x6C75747261
"""The number of PostgreSQL's advisory lock for migrations."""
RETRY_S = 0.2


def upgrade(engine: Engine, to: str = "head") -> None:
    config = _config()
    if engine.dialect.name == "sqlite":
        tighten(Path(engine.url.database or ""))
        # One transaction that holds the file from its start; a second program waits for it.
        with engine.execution_options(**{IMMEDIATE: True}).begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, to)
        return
    with _locked(engine), engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, to)
        connection.commit()


def pending(engine: Engine) -> bool:
    """Whether the schema is older or newer than this program's."""
    with engine.connect() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    return current != ScriptDirectory.from_config(_config()).get_current_head()


@contextmanager
def _locked(engine: Engine) -> Iterator[None]:
    """Asked for again and again: a statement that waits for a lock would hold up an index made concurrently."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        while not connection.execute(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": LOCK}).scalar():
            time.sleep(RETRY_S)
        try:
            yield
        finally:
            connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": LOCK})


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config
