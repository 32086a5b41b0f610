"""The repository of the queue: jobs, and the processes that compute them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, func, insert, or_, select

from lutra_service.db.repositories.repository import Repository
from lutra_service.db.schema.records import Job, JobName
from lutra_service.db.schema.tables import JobRow

QUEUE = "jobs"
"""The id of the queue itself among the changes of a transaction."""
LOOKED_AT = 1000
"""Jobs that are looked at together: the others wait until these have begun."""


class Jobs(Repository[Job]):
    row = JobRow
    record = Job
    noun = "job"

    def add(self, record: Job) -> Job:
        self.add_all([record])
        return record

    def add_all(self, jobs: Sequence[Job]) -> None:
        if jobs:
            self._forget()
            self._db.execute(insert(self.table), [self._values(job) for job in jobs])
            self._news.note(QUEUE)

    def waiting(
        self, kinds: Collection[JobName], now: datetime, busy: Collection[str] = (), only: str | None = None
    ) -> list[Job]:
        """Jobs that no process computes, those that are ready for the longest time first: of each database its oldest.
        Databases that are `busy`, or have a job that a process computes, have none.
        """
        c, held = self.table.c, self.table.alias().c
        taken = select(held.id).where(held.database_id == c.database_id, held.lease_until >= now).exists()
        others = or_(c.database_id.is_(None), c.database_id.not_in(busy))
        where = [c.kind.in_(kinds), self._is_free(now), ~taken, others, *([] if only is None else [c.id == only])]
        first = select(func.min(c.id)).where(*where).group_by(func.coalesce(c.database_id, c.id))
        return self._many(select(self.table).where(c.id.in_(first)).order_by(c.ready_at, c.id).limit(LOOKED_AT))

    def claim(self, id_: str, owner: str, now: datetime, until: datetime) -> bool:
        """Whether the owner may compute it: then no other process does, until the lease ends."""
        return self._update(self.table.c.id == id_, self._is_free(now), owner=owner, lease_until=until) == 1

    def renew(self, owner: str, ids: Collection[str], until: datetime) -> set[str]:
        """Renew the leases of those of `ids` that are still the owner's, and return their ids. The others were
        cancelled, or another process has claimed them.
        """
        c = self.table.c
        mine = c.id.in_(ids), c.owner == owner
        self._update(*mine, lease_until=until)
        return set(self._db.execute(select(c.id).where(*mine)).scalars())

    def release(self, id_: str, owner: str, attempts: int) -> None:
        """Return the job to the queue, if it is the owner's."""
        c = self.table.c
        if self._update(c.id == id_, c.owner == owner, attempts=attempts, owner=None, lease_until=None):
            self._news.note(QUEUE)

    def end(self, job: Job, owner: str, now: datetime) -> bool:
        """Delete the job, if it is the owner's; whether it was. The other jobs of its database are ready from now on:
        databases take turns.
        """
        c = self.table.c
        ended = self._delete(c.id == job.id, c.owner == owner) == 1
        if ended and job.database_id is not None:
            self._update(c.database_id == job.database_id, ready_at=now)
        return ended

    def cancel(self, ids: Collection[str]) -> None:
        """Delete the jobs. A process that computes one of them notices when it renews its leases."""
        self._delete(self.table.c.id.in_(ids))

    def count(self, kind: JobName, now: datetime) -> tuple[int, int]:
        """The numbers of jobs that are being computed, and that wait for a worker."""
        c = self.table.c
        every = select(func.count()).where(c.kind == kind)
        waiting = int(self._db.execute(every.where(self._is_free(now))).scalar_one())
        return int(self._db.execute(every).scalar_one()) - waiting, waiting

    def _is_free(self, now: datetime) -> ColumnElement[bool]:
        c = self.table.c
        return or_(c.lease_until.is_(None), c.lease_until < now)
