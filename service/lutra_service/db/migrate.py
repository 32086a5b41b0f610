"""Bring a database to the newest schema. The only way to create a schema, in production and in tests.

If several programs do so at once, one of them works, and the others find it done.
"""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from lutra_service.db.schema.engine import IMMEDIATE, tighten
from lutra_service.db.schema.in_use import one_at_a_time

MIGRATIONS = Path(__file__).parent / "migrations"


class UnknownSchema(Exception):
    """The database was brought to a schema that this program does not have."""


def upgrade(engine: Engine) -> bool:
    """Whether the schema was older than this program's. Raises UnknownSchema."""
    config = _config()
    if engine.dialect.name == "sqlite":
        tighten(Path(engine.url.database or ""))
        # One transaction that holds the file from its start; a second program waits for it.
        with engine.execution_options(**{IMMEDIATE: True}).begin() as connection:
            older = _is_pending(connection)
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
        return older
    with one_at_a_time(engine):
        older = pending(engine)
        with engine.connect() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.commit()
    return older


def pending(engine: Engine) -> bool:
    """Whether the schema is older than this program's. Raises UnknownSchema."""
    with engine.connect() as connection:
        return _is_pending(connection)


def _is_pending(connection: Connection) -> bool:
    current = MigrationContext.configure(connection).get_current_revision()
    known = ScriptDirectory.from_config(_config())
    if current is not None and current not in {script.revision for script in known.walk_revisions()}:
        raise UnknownSchema(
            f"this program does not know its schema, {current}: a different version of Lutra made it, and there is "
            "no downgrade. Start that version, or restore the backup from before the upgrade"
        )
    return current != known.get_current_head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config
