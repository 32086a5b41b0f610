"""A scorecard at the command line: its steps run in a separate worker, in addition to a service's."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from lutra_service.app.jobs import model_jobs, past_sessions
from lutra_service.app.jobs.executor import Compute
from lutra_service.common.settings import Settings
from lutra_service.db.schema.records import ModelJob
from lutra_service.db.store import Store

POLL_S = 0.5


def scored(store: Store, settings: Settings, model_id: str, say: Callable[[str], None]) -> None:
    """Compute the scorecard to its end, and `say` how far it is. Raises ClickException if it fails."""
    job = store.write(lambda unit: past_sessions.start(unit, model_id))
    id_ = job.id
    compute = Compute(store, settings, pools=[model_jobs.POOL], only=id_)
    compute.start()
    try:
        while job.state == "waiting" and not compute.unavailable:
            time.sleep(POLL_S)
            before, job = job, store.read(lambda unit: unit.model_jobs.get(id_))
            for done in range(max(1, len(before.results)), len(job.results)):
                say(_progress(job, done))
    finally:
        compute.stop()
    if job.state == "waiting":
        raise click.ClickException(f"nothing could compute it: {compute.unavailable}")
    if job.error is not None:
        raise click.ClickException(f"{model_id} could not be scored: {job.error}")


def _progress(job: ModelJob, done: int) -> str:
    last = job.results[done]
    told = last.get("failed") or f"log score {last['served']['log_score']:.3f}"
    return f"{done} of {len(job.sessions)}: {last['session']}: {told}"
