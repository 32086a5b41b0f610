"""The parts of every kind of computation, which `executor` puts together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from lutra_models.errors import ComputeCode, LutraError

from lutra_service.common.documents import Document
from lutra_service.common.ids import new_id
from lutra_service.common.settings import Settings
from lutra_service.db.schema.records import Job, JobName
from lutra_service.db.store import Store, UnitOfWork, Work
from lutra_service.workers.protocol import Worker


class ComputationLost(LutraError):
    """As many workers as its kind allows were lost while they computed only this job."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = ComputeCode.LOST


@dataclass(frozen=True)
class Task:
    """The input of a worker: the name of a function of `workers.worker`, and its argument.

    `code` is the id of a model version whose packages the worker may load. That process computes nothing else.
    """

    name: str
    payload: Document
    code: str = ""


@dataclass(frozen=True)
class JobKind:
    """A kind of computation. The functions get the id of the job.

    `prepare` returns the worker's task, or None if the job is no longer wanted. `check` takes an answer and the task's
    payload, returns what `complete` stores, and raises InvalidAnswer. `give_up` stores a failure; its task is None if
    the task could not be prepared. `complete` and `give_up` return the outcome in a word. After `tries` lost workers a
    job is given up.
    """

    name: JobName
    prepare: Callable[[UnitOfWork, str], Task | None]
    check: Callable[[Document, Mapping[str, Any]], Document]
    complete: Callable[[UnitOfWork, str, Document], str]
    give_up: Callable[[UnitOfWork, str, Task | None, LutraError], str]
    tries: Callable[[Settings], int] = lambda _: 1


@dataclass(frozen=True)
class Pool:
    """The workers of some kinds of jobs, in the order of their priority. Up to `size` workers compute at the same time.

    `make` makes a worker with its limits of time and memory. Workers of a pool that `gives_way` pause while a pool of
    higher priority computes on this machine. In a pool that is `ready`, one worker starts before the first job, because
    a new process loads for seconds. In a pool that `stays`, idle workers are kept.
    """

    kinds: tuple[JobKind, ...]
    make: Callable[[Settings], Worker]
    size: Callable[[Settings], int] = lambda _: 1
    gives_way: bool = False
    ready: bool = False
    stays: bool = True


class Leases:
    def __init__(self, store: Store, settings: Settings, only: str | None = None) -> None:
        """`only` this job is claimed, if it names one."""
        self._store, self._settings, self._only = store, settings, only
        self._owner = new_id("own", store.now())

    def claim(self, pool: Pool, number: int, busy: Collection[str]) -> list[Job]:
        """Up to `number` jobs of a pool's kinds, none of a database that is `busy`."""
        names = [kind.name for kind in pool.kinds]
        found = self._store.read(lambda u: u.jobs.waiting(names, u.now, busy, self._only))
        first = sorted(found, key=lambda job: names.index(job.kind))[:number]
        return self._store.write(partial(self._claim, jobs=first)) if first else []

    def _claim(self, unit: UnitOfWork, jobs: Collection[Job]) -> list[Job]:
        """Those that nobody else has claimed meanwhile."""
        return [job for job in jobs if unit.jobs.claim(job.id, self._owner, unit.now, self._until(unit))]

    def renew(self, ids: Collection[str]) -> set[str]:
        """The jobs of `ids` that are still this process's."""
        return self._store.write(lambda u: u.jobs.renew(self._owner, ids, self._until(u)))

    def _until(self, unit: UnitOfWork) -> datetime:
        return unit.now + timedelta(seconds=self._settings.lease_s)

    def end(self, unit: UnitOfWork, job: Job, then: Work[str]) -> str:
        """Take the job off the queue and do `then`, unless another process has claimed it or it was cancelled."""
        if job.database_id is not None and unit.jobs.find(job.id) is not None:
            unit.databases.lock(job.database_id)
        return then(unit) if unit.jobs.end(job, self._owner, unit.now) else ""

    def release(self, unit: UnitOfWork, job: Job) -> str:
        """Return the job to the queue, without counting an attempt."""
        unit.jobs.release(job.id, self._owner, job.attempts)
        return ""

    def give_up(self, unit: UnitOfWork, job: Job, kind: JobKind, task: Task | None, error: LutraError) -> str:
        return self.end(unit, job, lambda u: kind.give_up(u, job.id, task, error))

    def lose(self, unit: UnitOfWork, job: Job, kind: JobKind, task: Task | None, why: str) -> str:
        """Its worker was lost while it computed only this job: count an attempt."""
        attempts = job.attempts + 1
        if attempts < kind.tries(self._settings):
            unit.jobs.release(job.id, self._owner, attempts)
            return ""
        times = f" {attempts} times" if attempts > 1 else ""
        return self.give_up(unit, job, kind, task, ComputationLost(f"the computation was lost{times}: {why}"))
