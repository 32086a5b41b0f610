"""`lutra serve` and the other verbs that the service plugs into `lutra`. Heavy imports wait for the verb that needs
them.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from lutra_service.commands.verbs import Verb

if TYPE_CHECKING:
    from lutra_service.common.settings import Settings


@click.command(cls=Verb)
@click.option("--host", help="Address to listen on. [default: LUTRA_HOST or 127.0.0.1]")
@click.option("--port", type=click.IntRange(1, 65535), help="[default: LUTRA_PORT or 8000]")
def serve(host: str | None, port: int | None) -> None:
    """Run the service. It listens on loopback; any other address needs TLS.

    \b
    LUTRA_DATABASE_URL=sqlite:///lutra.db lutra serve --port 8000
    """
    settings = _settings()
    given = {k: v for k, v in (("host", host), ("port", port)) if v is not None}
    settings = settings.model_copy(update=given)
    refusal = settings.refusal_to_bind() or settings.refusal_of_scheduler()
    if refusal is not None:
        raise click.ClickException(refusal)
    from lutra_service.commands.opening import check_schema
    from lutra_service.main import create_app
    from lutra_service.server import refusal_to_listen
    from lutra_service.server import serve as run

    check_schema(settings)
    refusal = refusal_to_listen(settings)
    if refusal is not None:
        raise click.ClickException(refusal)
    run(create_app(settings), settings)


@click.command(cls=Verb)
def migrate() -> None:
    """Create or update the schema of the database that LUTRA_DATABASE_URL names.

    \b
    LUTRA_DATABASE_URL=sqlite:///lutra.db lutra migrate
    """
    from lutra_service.db import migrate as migrations
    from lutra_service.db.schema.engine import make_engine

    engine = make_engine(_settings().database_url)
    older = migrations.upgrade(engine)
    engine.dispose()
    click.echo("the schema is up to date" if older else "the schema was up to date already")


@click.command(cls=Verb)
@click.option("--days", type=click.FloatRange(0, min_open=True), help="[default: LUTRA_RETENTION_DAYS or 14]")
def prune(days: float | None) -> None:
    """Merge old windows and delete unneeded rows, as the service does every hour.

    Windows older than DAYS are merged into one per configuration; a trial's own measurement is kept. The inputs of
    older recommendations are deleted: `lutra replay` can then recompute only newer ones.

    \b
    lutra prune --days 30
    """
    from datetime import timedelta

    from lutra_service.app.retention.policy import prune as pruned
    from lutra_service.commands.opening import opened

    settings = _settings()
    with opened(settings) as store:
        gone = pruned(store, timedelta(days=settings.retention_days if days is None else days))
    click.echo(str(gone))


@click.command(cls=Verb)
@click.argument("recommendation")
def replay(recommendation: str) -> None:
    """Recompute a recommendation from its stored input, and compare every bit.

    \b
    lutra replay rec_…
    """
    from lutra_models.errors import LutraError

    from lutra_service.app.jobs.recommendation_jobs import stored_answer
    from lutra_service.commands.opening import opened
    from lutra_service.workers.maker import make_worker
    from lutra_service.workers.protocol import NoWorker, WorkerLost

    settings = _settings()
    refusal = settings.refusal_of_scheduler()
    if refusal is not None:
        raise click.ClickException(refusal)
    with opened(settings) as store:
        request, answered = store.read(lambda unit: stored_answer(unit, recommendation))
    # In a worker of the same make: the number of BLAS threads alone changes the last bits.
    worker = make_worker(settings)
    try:
        again = worker.run(request.name, request.payload)
    except (LutraError, WorkerLost, NoWorker) as error:
        raise click.ClickException(f"{recommendation} could not be recomputed: {error}") from error
    finally:
        worker.close()
    different = [name for name, value in answered.items() if json.loads(json.dumps(again[name])) != value]
    if different:
        click.echo(f"{recommendation}: different in {', '.join(different)}", err=True)
        sys.exit(1)
    click.echo(f"{recommendation}: the same bits in {', '.join(answered)}")


def _settings() -> Settings:
    from lutra_service.common.settings import Settings

    return Settings()
