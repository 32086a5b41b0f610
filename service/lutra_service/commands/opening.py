"""The database as a command opens it: an error that an operator can fix is one line, with the place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
from lutra_models.errors import LutraError, printable

from lutra_service.app.tuning.consequences.follow import follow
from lutra_service.common.actor import Actor, current_actor
from lutra_service.common.settings import Settings
from lutra_service.db import migrate
from lutra_service.db.schema.engine import file_of, make_engine
from lutra_service.db.store import Store

COMMAND_LINE = Actor(token_name="command line")  # noqa: S106  (nobody's secret)


def check_schema(settings: Settings) -> None:
    """Raises ClickException if `lutra migrate` has to run first."""
    file = file_of(settings.database_url)
    if file is not None and not file.exists():
        raise click.ClickException(
            f"there is no database {file}: run `lutra migrate` to create it, or set "
            "LUTRA_DATABASE_URL to a different one"
        )
    engine = make_engine(settings.database_url)
    try:
        pending = migrate.pending(engine)
    finally:
        engine.dispose()
    if pending:
        place = file or "the database of LUTRA_DATABASE_URL"
        raise click.ClickException(f"the schema of {place} does not fit this program: run `lutra migrate`")


@contextmanager
def opened(settings: Settings | None = None) -> Iterator[Store]:
    """A store with this program's schema; its actor is the command line."""
    settings = settings or Settings()
    check_schema(settings)
    store = Store(make_engine(settings.database_url), follow=follow)
    acting = current_actor.set(COMMAND_LINE)
    try:
        yield store
    except LutraError as error:
        raise click.ClickException(printable(str(error))) from error
    finally:
        current_actor.reset(acting)
        store.close()
