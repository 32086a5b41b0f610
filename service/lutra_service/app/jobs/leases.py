"""One process's share of the queue: it claims jobs, renews their leases, and ends them.

A process that claims a job has a lease of it, and renews the lease until the job ends. A job is ended by the process
that claimed it last: the answer of an earlier one is dropped.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial

from lutra_models.errors import LutraError

from lutra_service.app.jobs.kinds import ComputationLost, JobKind, Pool, Task
from lutra_service.common.ids import new_id
from lutra_service.common.settings import Settings
from lutra_service.db.schema.records import Job
from lutra_service.db.store import Store, UnitOfWork, Work


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
