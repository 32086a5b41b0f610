"""`lutra …`: the service's commands. Heavy imports wait for the command that needs them."""

from __future__ import annotations

import json
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from lutra_service.common.settings import Settings


ELSEWHERE = "lutra.commands"
"""The group of entry points by which another distribution brings commands."""
BRINGS = {"check": "lutra-agent", "demo": "lutra-lab", "mcp": "'lutra-client[mcp]'", "notebook": "lutra-notebooks"}
"""By command the distribution of ours that brings it."""


class Commands(click.Group):
    """An error that an operator can fix ends with one line, without a traceback. Other distributions add commands."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted([*super().list_commands(context), *entry_points(group=ELSEWHERE).names])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        own = super().get_command(context, name)
        if own is not None:
            return own
        for found in entry_points(group=ELSEWHERE, name=name):
            command: click.Command = found.load()
            return command
        if name in BRINGS:
            raise click.UsageError(f"`lutra {name}` comes with another distribution: pip install {BRINGS[name]}")
        return None

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except Exception as error:
            told = _mendable(error)
            if told is None:
                raise
            raise click.ClickException(told) from error


def _mendable(error: Exception) -> str | None:
    from pydantic import ValidationError
    from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError

    from lutra_service.db.migrate import UnknownSchema
    from lutra_service.db.schema.dialects import URLS
    from lutra_service.db.schema.engine import UnusableUrl

    if isinstance(error, ValidationError):
        return "; ".join(f"LUTRA_{'.'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in error.errors())
    if isinstance(error, OperationalError) or type(error) is DatabaseError:  # the latter: a file that is no database
        return f"the database of LUTRA_DATABASE_URL: {error.orig}"
    if isinstance(error, UnusableUrl | UnknownSchema):
        return f"LUTRA_DATABASE_URL: {error}"
    if isinstance(error, ArgumentError):  # its message holds the URL, and that a password
        return f"LUTRA_DATABASE_URL is not a database URL; it must begin with {URLS}"
    return None


@click.group(cls=Commands)
@click.version_option(package_name="lutra-service")
def main() -> None:
    """Lutra recommends database settings, and predicts their p99 and QPS."""


@main.command()
@click.option("--host", help="Address to listen on. [default: LUTRA_HOST or 127.0.0.1]")
@click.option("--port", type=click.IntRange(1, 65535), help="[default: LUTRA_PORT or 8000]")
def serve(host: str | None, port: int | None) -> None:
    """Run the service. It listens on loopback; any other address needs TLS."""
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


@main.command()
def migrate() -> None:
    """Create or update the schema of the database that LUTRA_DATABASE_URL names."""
    from lutra_service.db import migrate as migrations
    from lutra_service.db.schema.engine import make_engine

    engine = make_engine(_settings().database_url)
    older = migrations.upgrade(engine)
    engine.dispose()
    click.echo("the schema is up to date" if older else "the schema was up to date already")


@main.command()
@click.option("--days", type=click.FloatRange(0, min_open=True), help="[default: LUTRA_RETENTION_DAYS or 14]")
def prune(days: float | None) -> None:
    """Merge old windows and delete unneeded rows, as the service does every hour.

    Windows older than DAYS are merged into one per configuration; a trial's own measurement is kept. The inputs of
    older recommendations are deleted: `lutra replay` can then recompute only newer ones.
    """
    from datetime import timedelta

    from lutra_service.app.retention.policy import prune as pruned
    from lutra_service.commands.opening import opened

    settings = _settings()
    with opened(settings) as store:
        gone = pruned(store, timedelta(days=settings.retention_days if days is None else days))
    click.echo(str(gone))


@main.command()
@click.argument("recommendation")
def replay(recommendation: str) -> None:
    """Recompute a recommendation from its stored input, and compare every bit."""
    from lutra_models.errors import LutraError

    from lutra_service.app.jobs.replay import stored_answer
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
        again = worker.run(request.task, request.payload)
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


def _add_commands() -> None:
    from lutra_service.commands.datasets import export, import_
    from lutra_service.commands.models import models
    from lutra_service.commands.public import public
    from lutra_service.commands.tokens import audit, token
    from lutra_service.commands.train import train

    for command in (token, audit, models, train, export, import_):
        main.add_command(command)
    import_.add_command(public)


_add_commands()
