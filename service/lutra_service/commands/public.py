"""`lutra import public`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import click

from lutra_service.commands.verbs import Verb

if TYPE_CHECKING:
    from lutra_service.app.workloads.imports.public_tables import Read
    from lutra_service.app.workloads.lessons import Outcome


@click.command(cls=Verb)
def public() -> None:
    """Import the public tables of lutra-public as past workloads, so that a first session can learn from them.

    Either all tables are stored or none; existing ones are not changed. Then they are fitted, as `lutra train` does.
    Databases whose policy says `past: none` never use them.

    \b
    lutra import public
    """
    from lutra_models.errors import LutraError

    from lutra_service.app.jobs.training import train
    from lutra_service.app.workloads.imports.public_tables import folder, keep, read
    from lutra_service.commands.opening import check_schema, opened
    from lutra_service.common.settings import Settings
    from lutra_service.workers.protocol import NoWorker

    settings = Settings()
    refusal = settings.refusal_of_scheduler()
    if refusal is not None:
        raise click.ClickException(refusal)
    check_schema(settings)
    try:
        tables = read(folder())
    except (LutraError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    with opened(settings) as store:
        outcomes = store.write(lambda unit: keep(unit, tables))
        tell(tables, outcomes)
        try:
            trained = train(store, settings, threading.Event(), click.echo)
        except NoWorker as error:
            raise click.ClickException(f"imported, but not fitted yet ({error}): run `lutra train`") from error
    click.echo(str(trained))


def tell(tables: list[Read], outcomes: list[Outcome]) -> None:
    for one, outcome in zip(tables, outcomes, strict=True):
        count, settings = len(one.history.observations), len(one.history.space.names)
        click.echo(
            f"{outcome}: {one.table.name}, {one.table.engine} {one.table.engine_version}: {count} observations of "
            f"{settings} settings ({one.table.source}; {one.table.licence})"
        )
    if set(outcomes) <= {"known"}:
        click.echo("nothing changed: all tables had been imported before")
