"""`lutra train`."""

from __future__ import annotations

import signal
import threading

import click

from lutra_service.commands.verbs import Verb


@click.command(cls=Verb)
@click.option("--workers", type=click.IntRange(1), help="Workloads to fit at the same time. [default: LUTRA_WORKERS]")
def train(workers: int | None) -> None:
    """Fit every past workload whose model is missing or outdated.

    Current models are not changed, and an interrupted run keeps the models that it has fitted. The service does the
    same by itself, one workload at a time (LUTRA_TRAIN_S).

    \b
    lutra train --workers 2
    """
    from lutra_service.app.jobs import training
    from lutra_service.commands.opening import opened
    from lutra_service.common.settings import Settings
    from lutra_service.workers.protocol import NoWorker

    settings = Settings() if workers is None else Settings(workers=workers)
    refusal = settings.refusal_of_scheduler()
    if refusal is not None:
        raise click.ClickException(refusal)
    stopping = threading.Event()
    with opened(settings) as store:
        signal.signal(signal.SIGTERM, lambda *_: stopping.set())
        signal.signal(signal.SIGINT, lambda *_: stopping.set())
        try:
            trained = training.train(store, settings, stopping, click.echo)
        except NoWorker as error:
            raise click.ClickException(f"nothing could be computed: {error}") from error
    click.echo(str(trained))
    if stopping.is_set():
        raise click.ClickException("interrupted: run it again to continue")
