"""`lutra train`."""

from __future__ import annotations

import signal
import time
from functools import partial

import click

from lutra_service.commands.verbs import Verb


@click.command(cls=Verb)
@click.option("--workers", type=click.IntRange(1), help="Workloads to fit at the same time. [default: LUTRA_WORKERS]")
def train(workers: int | None) -> None:
    """Fit every past workload whose model is missing or outdated.

    Current models are not changed, and an interrupted run keeps the models that it has fitted. The service does the
    same by itself, one workload at a time (LUTRA_TRAIN_S).
    """
    from lutra_service.app.jobs.training import Training
    from lutra_service.commands.opening import opened
    from lutra_service.common.settings import Settings
    from lutra_service.workers.maker import make_worker
    from lutra_service.workers.protocol import NoWorker

    settings = Settings()
    refusal = settings.refusal_of_scheduler()
    if refusal is not None:
        raise click.ClickException(refusal)
    with opened(settings) as store:
        training = Training(
            store, partial(make_worker, settings, waited_for=False), workers or settings.workers, Teller()
        )
        signal.signal(signal.SIGTERM, lambda *_: training.stop())
        signal.signal(signal.SIGINT, lambda *_: training.stop())
        try:
            trained = training.run()
        except NoWorker as error:
            raise click.ClickException(f"nothing could be computed: {error}") from error
    click.echo(str(trained))
    if training.stopped:
        raise click.ClickException("interrupted: run it again to continue")


class Teller:
    """Prints the progress, every few seconds."""

    EVERY_S = 5.0

    def __init__(self) -> None:
        self._told = time.monotonic()

    def __call__(self, progress: object) -> None:
        if time.monotonic() - self._told >= self.EVERY_S:
            self._told = time.monotonic()
            click.echo(str(progress))
