"""Computations outside the API's process: jobs of the queue are claimed, given to workers, and ended.

A worker is a process of this machine, or one of a Dask cluster. It computes one request at a time and keeps no state:
one that dies loses only time, and affects no other computation.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from lutra_models.errors import LutraError

from lutra_service.app.jobs import model_jobs, recommendation_jobs, workload_jobs
from lutra_service.app.jobs.kinds import JobKind, Leases, Pool, Task
from lutra_service.common.documents import Document
from lutra_service.common.settings import Settings
from lutra_service.common.telemetry import JOB_SECONDS, JOBS
from lutra_service.db.repositories.jobs import QUEUE
from lutra_service.db.schema.records import Job
from lutra_service.db.store import Store, StoreAway, Work
from lutra_service.workers.maker import MakesWorker
from lutra_service.workers.protocol import NoWorker, Worker, WorkerLost

log = logging.getLogger(__name__)

POOLS: tuple[Pool, ...] = (recommendation_jobs.POOL, model_jobs.POOL, workload_jobs.POOL)
"""The first go first."""
STOP_S = 10.0
"""The time for which a stop waits for each thread."""


@dataclass(frozen=True)
class Chore:
    """Work that is done every `every_s`, for as long as the service runs."""

    every_s: float
    work: Callable[[Store], object]


@dataclass(eq=False)
class Seat:
    """A worker; `loaded` is the model version whose code it may have loaded."""

    worker: Worker
    loaded: str = ""


@dataclass(eq=False)
class Run:
    """A job that is being computed. It has no seat while only its end is still to be stored: its worker may already
    compute the next job, and must not be killed for this one.
    """

    job: Job
    kind: JobKind
    pool: Pool
    seat: Seat | None


class Compute:
    """Claims jobs, has them computed, and ends them. `wake` may be called from any thread; `start` and `stop` once
    each.

    `ends` counts the outcomes of the computations so far. `unavailable` is the reason why no worker could compute the
    last job that had to wait for that; empty if there is no such job.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        executor: MakesWorker | None = None,
        pools: Sequence[Pool] = POOLS,
        chores: Sequence[Chore] = (),
        only: str | None = None,
    ) -> None:
        """`executor` makes the workers, instead of each pool its own. `only` this job is computed, if it names one."""
        self._store, self._settings, self._executor, self._pools = store, settings, executor, pools
        self._leases = Leases(store, settings, only)
        self._done: dict[Chore, float | None] = dict.fromkeys(chores)
        self.ends: Counter[str] = Counter()
        self.unavailable = ""
        self._idle: dict[Pool, list[Seat]] = {pool: [] for pool in pools}
        self._running: dict[str, Run] = {}
        self._lock = threading.Lock()
        """Held where a worker goes from one computation to another, and where one is killed for what it computes."""
        self._threads: list[threading.Thread] = []
        """Those that compute, and some that have ended."""
        self._news = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="compute", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """A computation in progress is repeated after the next start. Afterwards none of its threads uses the store."""
        self._stopping.set()
        self.wake()
        if self._thread.ident is not None:
            self._thread.join(timeout=STOP_S)
        for id_ in list(self._running):
            self._kill(id_)
        for thread in self._threads:
            thread.join(timeout=STOP_S)
        for run in list(self._running.values()):
            self._try(run, partial(self._leases.release, job=run.job))
        for pool in self._pools:
            self._close_idle(pool)

    def wake(self) -> None:
        self._news.set()

    def on_change(self, changed: set[str]) -> None:
        """A listener of the store: there may be something to compute."""
        if QUEUE in changed:
            self.wake()

    def _run(self) -> None:
        swept = None
        self._get_ready()
        while not self._stopping.is_set():
            try:
                self._claim()
                if swept is None or time.monotonic() - swept > self._settings.sweep_s:
                    self._keep()
                    self._do_chores()
                    swept = time.monotonic()
            except StoreAway:
                pass  # the rows wait
            except Exception:
                log.exception("a round of computations failed")
            self._news.wait(self._settings.sweep_s)
            self._news.clear()

    def _make(self, pool: Pool) -> Seat:
        return Seat(pool.make(self._settings) if self._executor is None else self._executor())

    def _get_ready(self) -> None:
        for pool in self._pools:
            if pool.ready:
                self._idle[pool].append(seat := self._make(pool))
                try:
                    seat.worker.start()
                except NoWorker:
                    log.exception("the first worker could not be started")

    def _claim(self) -> None:
        """As many jobs as there are free workers, each of another database than those that are being computed."""
        running = list(self._running.values())
        busy = {run.job.database_id for run in running if run.job.database_id is not None}
        for pool in self._pools:
            taken = sum(run.pool is pool for run in running)
            free = pool.size(self._settings) - taken
            jobs = self._leases.claim(pool, free, busy) if free > 0 else []
            for job in jobs:
                self._take(job, pool)
            if not (jobs or taken or pool.stays):
                self._close_idle(pool)

    def _take(self, job: Job, pool: Pool) -> None:
        kind = next(kind for kind in pool.kinds if kind.name == job.kind)
        seat = self._idle[pool].pop() if self._idle[pool] else self._make(pool)
        run = Run(job, kind, pool, seat)
        with self._lock:
            self._running[job.id] = run
            self._give_way()
        try:
            thread = threading.Thread(target=self._compute, args=(run, seat), daemon=True)
            thread.start()
            self._threads = [*(t for t in self._threads if t.is_alive()), thread]
        except RuntimeError:  # no more threads: the lease runs out
            self._free(run, seat)
            raise

    def _free(self, run: Run, seat: Seat) -> None:
        with self._lock:
            self._idle[run.pool].append(seat)
            del self._running[run.job.id]
            self._give_way()

    def _give_way(self) -> None:
        running = self._running.values()
        for place, pool in enumerate(self._pools):
            if pool.gives_way and self._settings.dask_scheduler is None:
                hold = any(run.pool in self._pools[:place] for run in running)
                for seat in (*self._idle[pool], *(run.seat for run in running if run.pool is pool)):
                    if seat is not None:
                        seat.worker.pause(hold)

    def _close_idle(self, pool: Pool) -> None:
        while self._idle[pool]:
            self._idle[pool].pop().worker.close()

    def _keep(self) -> None:
        """Renew the leases, and kill the computations that were cancelled or that another process took over."""
        held = list(self._running)
        for id_ in set(held) - self._leases.renew(held) if held else ():
            self._kill(id_)

    def _kill(self, id_: str) -> None:
        with self._lock:
            run = self._running.get(id_)
            if run is not None and run.seat is not None:
                run.seat.worker.kill()

    def _do_chores(self) -> None:
        for chore, last in self._done.items():
            if last is not None and time.monotonic() - last < chore.every_s:
                continue
            try:
                chore.work(self._store)
            except StoreAway:
                return
            except Exception:
                log.exception("a chore failed")
            self._done[chore] = time.monotonic()

    def _compute(self, run: Run, seat: Seat) -> None:
        try:
            how, end = self._outcome(run, seat)
            with self._lock:
                run.seat = None
            if self._stopping.is_set():
                self._try(run, partial(self._leases.release, job=run.job))
            else:
                self._store_end(run, how, end)
        finally:
            self._free(run, seat)
            self.wake()

    def _outcome(self, run: Run, seat: Seat) -> tuple[str, Work[str]]:
        """How the computation ended, in one word, and the work that stores this; no word for a job without a task."""
        job, kind, task = run.job, run.kind, None
        try:
            task = self._store.read(lambda u: kind.prepare(u, job.id))
            if task is None:
                return "", partial(self._leases.end, job=job, then=lambda _: "")
            result = self._result(kind, task, seat)
        except (NoWorker, StoreAway) as error:
            log.warning("%s waits: nothing could compute it: %s", job.id, error)
            self.unavailable = str(error)
            self._stopping.wait(self._settings.sweep_s)
            return "unavailable", partial(self._leases.release, job=job)
        except LutraError as error:
            log.exception("%s failed", job.id)
            return "failed", partial(self._leases.give_up, job=job, kind=kind, task=task, error=error)
        except Exception as error:
            log.exception("%s was lost", job.id)
            why = str(error) if isinstance(error, WorkerLost) else repr(error)
            return "lost", partial(self._leases.lose, job=job, kind=kind, task=task, why=why)
        return "done", partial(self._leases.end, job=job, then=lambda u: kind.complete(u, job.id, result))

    def _result(self, kind: JobKind, task: Task, seat: Seat) -> Document:
        if seat.loaded != task.code:
            seat.worker.close()
            seat.loaded = task.code
        with JOB_SECONDS.labels(task.name).time():
            return kind.check(seat.worker.run(task.name, task.payload), task.payload)

    def _store_end(self, run: Run, how: str, end: Work[str]) -> None:
        """Store the end, or if that fails one more attempt. If that fails as well, the lease runs out."""
        if how:
            JOBS.labels(how).inc()
        try:
            if outcome := self._store.write(end):
                with self._lock:
                    self.ends[outcome] += 1
            return
        except StoreAway:
            log.warning("%s ended while the store was away: it is recomputed", run.job.id)
            return
        except Exception:
            log.exception("the end of %s could not be stored", run.job.id)
        why = "its end could not be stored"
        self._try(run, partial(self._leases.lose, job=run.job, kind=run.kind, task=None, why=why))

    def _try(self, run: Run, work: Work[str]) -> None:
        try:
            self._store.write(work)
        except Exception:
            log.exception("the lease of %s will expire", run.job.id)
