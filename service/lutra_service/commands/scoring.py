"""A scorecard at the command line: its steps run in a separate worker, in addition to a service's."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import click
from lutra_models.errors import LutraError

from lutra_service.app.jobs import model_jobs, past_sessions
from lutra_service.common.settings import Settings
from lutra_service.db.schema.records import ModelJob
from lutra_service.db.store import Store, UnitOfWork
from lutra_service.workers.maker import candidate_worker
from lutra_service.workers.protocol import NoWorker, Worker, WorkerLost

POLL_S = 0.5


def scored(store: Store, settings: Settings, model_id: str, say: Callable[[str], None]) -> None:
    """Compute the scorecard to its end, and `say` how far it is. Raises ClickException if it fails."""
    job, worker = store.write(lambda unit: past_sessions.start(unit, model_id)), candidate_worker(settings)
    id_ = job.id
    try:
        while job.state == "waiting":
            if store.write(lambda unit: _claimed(unit, id_, settings)):
                _step(store, worker, id_)
            else:
                time.sleep(POLL_S)
            before, job = job, store.read(lambda unit: unit.model_jobs.get(id_))
            if len(job.results) > max(1, len(before.results)):
                say(_progress(job))
    finally:
        worker.close()
    if job.error is not None:
        raise click.ClickException(f"{model_id} could not be scored: {job.error}")


def _claimed(unit: UnitOfWork, id_: str, settings: Settings) -> bool:
    """For twice as long as a step of a candidate may take: nobody renews it meanwhile."""
    return unit.model_jobs.claim(id_, unit.now, unit.now + timedelta(seconds=settings.fit_timeout_s))


def _step(store: Store, worker: Worker, id_: str) -> None:
    """One step, and its end stored. Raises ClickException if nothing can compute."""
    try:
        given = store.read(lambda unit: model_jobs.job(unit, id_))
        result = model_jobs.checked(worker.run(given.task, given.payload), given.payload)
    except LutraError as error:
        store.write(partial(model_jobs.give_up, id_=id_, error=error))
    except WorkerLost as error:
        store.write(partial(model_jobs.lose, id_=id_, why=str(error)))
    except NoWorker as error:
        store.write(partial(model_jobs.release, id_=id_))
        raise click.ClickException(f"nothing could compute it: {error}") from error
    else:
        store.write(partial(model_jobs.complete, id_=id_, result=result))


def _progress(job: ModelJob) -> str:
    last = job.results[-1]
    told = last.get("failed") or f"log score {last['served']['log_score']:.3f}"
    return f"{len(job.results) - 1} of {len(job.sessions)}: {last['session']}: {told}"
