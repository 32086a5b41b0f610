"""The fit of past workloads whose model is missing or outdated, each once.

A session's model was fitted at its last request; it is fitted again if the serving model version has other options.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from lutra_models.errors import LutraError

from lutra_service.app.jobs import results
from lutra_service.app.jobs.kinds import JobKind, Pool, Task
from lutra_service.app.model_versions.serving import serving
from lutra_service.app.workloads import lessons
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Job, Snapshot
from lutra_service.db.store import UnitOfWork
from lutra_service.workers.maker import make_worker


def queue(unit: UnitOfWork) -> None:
    """Ask for a fit of every workload that needs one."""
    unit.jobs.add_all([Job(id_, "workload", unit.now) for id_ in unit.workloads.unfitted(_fitted_as_now(unit))])


def left(unit: UnitOfWork) -> int:
    """The number of workloads to fit."""
    return sum(unit.jobs.count("workload", unit.now))


def _fitted_as_now(unit: UnitOfWork) -> str:
    return lessons.fitted_with(serving(unit).options.fingerprint)


def prepare(unit: UnitOfWork, id_: str) -> Task | None:
    row, want = unit.workloads.find(id_), _fitted_as_now(unit)
    if row is None or row.fitted_with == want:
        return None
    request = lessons.request(row.history, serving(unit).options)
    return Task("learn", {**request, "key": row.key, "fitted_with": want})


def checked(result: Document, request: Mapping[str, Any]) -> Document:
    """The model and its summary, both None if there is nothing to learn, and the fitted content.

    Raises InvalidAnswer.
    """
    model = results.learned(result, request)
    metric = request["history"]["objective"]["metric"]
    taught = None if model is None else lessons.taught(model, metric)
    return {"model": model, "taught": taught, "key": request["key"], "fitted_with": request["fitted_with"]}


def complete(unit: UnitOfWork, id_: str, result: Document) -> str:
    """Keep the model, if the workload's content is still the same."""
    model = result["model"]
    snapshot = None if model is None else unit.new_id("snap")
    kept = _keep(unit, id_, result, taught=result["taught"], snapshot_id=snapshot)
    if snapshot is None:
        return "taught nothing"
    if kept:
        unit.snapshots.add(_snapshot(unit, snapshot, result["key"], model))
        owner = unit.workloads.owner(id_)
        if owner is not None and lessons.merge(unit, id_, owner) not in (None, id_):
            return "merged"
    return "fitted"


def _snapshot(unit: UnitOfWork, id_: str, key: str, model: Document) -> Snapshot:
    rows = len(next(iter(model["posteriors"].values()))["z"])
    return Snapshot(id_, None, None, key, rows, model, unit.now)


def give_up(unit: UnitOfWork, id_: str, task: Task | None, error: LutraError) -> str:
    """The same content fails in the same way: it is not fitted again until the options change."""
    if task is not None:
        _keep(unit, id_, task.payload, error=f"{type(error).__name__}: {error}"[:1000], taught=None)
    return "failed"


def _keep(unit: UnitOfWork, id_: str, fitted: Document, **values: Any) -> bool:
    return unit.workloads.learn(id_, unit.now, only=fitted["key"], fitted_with=fitted["fitted_with"], **values)


WORKLOAD = JobKind("workload", prepare, checked, complete, give_up)
POOL = Pool((WORKLOAD,), partial(make_worker, waited_for=False), stays=False)
