"""Computations outside the API's process: recommendations that are `computing`, and the computations of model versions,
are claimed, given to a worker, and completed.

A worker is a process of this machine, or one of a Dask cluster. It computes one request at a time and keeps no state:
one that dies loses only time, and affects no other computation. Model versions share one separate worker. It never
computes a recommendation, pauses while the machine computes one, and ends before it computes for another version,
because it may have loaded the code of others.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from functools import partial

from lutra_models.errors import LutraError

from lutra_service.app.databases import findings
from lutra_service.app.jobs import lease, model_jobs
from lutra_service.app.jobs.kinds import JobKind
from lutra_service.app.tuning.result import expiry
from lutra_service.common.documents import Document
from lutra_service.common.settings import Settings
from lutra_service.common.telemetry import JOB_SECONDS, JOBS
from lutra_service.db.schema.records import PendingJob
from lutra_service.db.store import Store, StoreAway, Work
from lutra_service.workers.maker import MakesWorker, candidate_worker, make_worker
from lutra_service.workers.protocol import NoWorker, Worker, WorkerLost

log = logging.getLogger(__name__)

KINDS: tuple[JobKind, JobKind] = (lease, model_jobs)
STOP_S = 10.0
"""The time for which a stop waits for each thread."""
REMEMBERED = 10_000
"""Databases. One whose last turn is forgotten comes first, as if it had never had one."""


class FairQueue:
    """Remembers the order in which databases had their turns."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._count = 0

    def next(self, free: int, waiting: Sequence[PendingJob]) -> list[PendingJob]:
        """Up to `free` of those: first the databases whose last turn was longest ago.

        `waiting` contains each database once, in the order in which the computations were requested.
        """
        return sorted(waiting, key=lambda w: self._last.get(w.of, 0))[:free]

    def took(self, database_id: str) -> None:
        self._count += 1
        self._last.pop(database_id, None)
        self._last[database_id] = self._count
        while len(self._last) > REMEMBERED:
            del self._last[next(iter(self._last))]


def _kind(id_: str) -> JobKind:
    """Which of the two it waits in."""
    return model_jobs if id_.startswith(model_jobs.PREFIX) else lease


class Compute:
    """Claims, computes, completes. `wake` may be called from any thread; `start` and `stop` once each."""

    def __init__(self, store: Store, settings: Settings, executor: MakesWorker | None = None) -> None:
        self._store = store
        self._settings = settings
        self._make: MakesWorker = executor or partial(make_worker, settings)
        self._idle: list[Worker] = []
        self.make_candidates: MakesWorker = executor or partial(candidate_worker, settings)
        self._candidates: Worker | None = None
        self._loaded = ""
        """The model version that the candidates' worker computed for."""
        self._running: dict[str, tuple[PendingJob, Worker | None]] = {}
        """By id. Once a computation has ended, and only its end is still to be stored, it has no worker: nobody kills
        that worker for it, as it may compute the next one already.
        """
        self._lock = threading.Lock()
        """Held where a worker goes from one computation to another, and where one is killed for what it computes."""
        self._threads: list[threading.Thread] = []
        """Those that compute, and some that have ended."""
        self._queue = FairQueue()
        self._news = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="compute", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """A computation in progress is left to the next start. Afterwards none of its threads uses the store."""
        self._stopping.set()
        self.wake()
        if self._thread.ident is not None:
            self._thread.join(timeout=STOP_S)
        unfinished = list(self._running.values())
        for idle in list(self._idle):
            idle.close()
        for _, worker in unfinished:
            if worker is not None:
                worker.kill()
        for thread in self._threads:
            thread.join(timeout=STOP_S)
        for waiting, _ in unfinished:
            self._release(waiting.id)
        if self._candidates is not None and all(worker is not self._candidates for _, worker in unfinished):
            self._candidates.close()

    def _release(self, id_: str) -> None:
        try:
            self._store.write(lambda u: _kind(id_).release(u, id_))
        except Exception:
            log.exception("the lease of %s could not be released; it will expire", id_)

    def wake(self) -> None:
        self._news.set()

    def on_change(self, changed: set[str]) -> None:
        """A listener of the store: a change may require a computation."""
        if any(id_.startswith(("rec_", model_jobs.PREFIX)) for id_ in changed):
            self.wake()

    def _run(self) -> None:
        swept = 0.0
        self._get_ready()
        while not self._stopping.is_set():
            try:
                self._claim()
                if time.monotonic() - swept > self._settings.sweep_s:
                    self._sweep()
                    swept = time.monotonic()
            except StoreAway:
                pass  # the rows wait
            except Exception:
                log.exception("a round of computations failed")
            self._news.wait(self._settings.sweep_s)
            self._news.clear()

    def _get_ready(self) -> None:
        """One worker, before anybody asks for a computation: a new process loads for seconds."""
        worker = self._make()
        self._idle.append(worker)
        try:
            worker.start()
        except NoWorker:
            log.exception("the first worker could not be started")

    def _claim(self) -> None:
        """As many recommendations as there are free workers, each of another database than those that are being run;
        and one computation of a model version.
        """
        lease_s, running = self._settings.lease_s, [waiting for waiting, _ in list(self._running.values())]
        busy = {waiting.of for waiting in running if _kind(waiting.id) is lease}
        free = self._settings.workers - len(busy)
        if free > 0 and self._store.read(lambda u: lease.waiting(u, busy)):
            pick = partial(self._queue.next, free)
            for waiting in self._store.write(lambda u: lease.claim(u, lease_s, busy, pick)):
                self._queue.took(waiting.of)
                self._take(waiting, self._idle.pop() if self._idle else self._make())
        if len(busy) == len(running) and self._store.read(lambda u: model_jobs.waiting(u, 1)):
            for waiting in self._store.write(lambda u: model_jobs.claim(u, lease_s, 1)):
                self._candidates = self._candidates or self.make_candidates()
                self._take(waiting, self._candidates)

    def _take(self, waiting: PendingJob, worker: Worker) -> None:
        with self._lock:
            self._running[waiting.id] = waiting, worker
            self._give_way()
        self._begin(waiting, worker)

    def _give_way(self) -> None:
        """Candidates compute while no recommendation is computed on this machine."""
        if self._candidates is not None and self._settings.dask_scheduler is None:
            self._candidates.pause(any(_kind(id_) is lease for id_ in self._running))

    def _begin(self, waiting: PendingJob, worker: Worker) -> None:
        try:
            thread = threading.Thread(target=self._compute, args=(waiting, worker), daemon=True)
            thread.start()
            self._threads = [*(t for t in self._threads if t.is_alive()), thread]
        except RuntimeError:  # no more threads: the lease runs out
            self._free(waiting, worker)
            raise

    def _free(self, waiting: PendingJob, worker: Worker) -> None:
        with self._lock:
            if worker is not self._candidates:
                self._idle.append(worker)
            del self._running[waiting.id]
            self._give_way()

    def _sweep(self) -> None:
        """Keep the leases of what is being computed, end what nobody waits for, and what waited too long; look at some
        databases for findings.
        """
        for kind in KINDS:
            held = [id_ for id_ in list(self._running) if _kind(id_) is kind]
            if not held:
                continue
            self._store.write(partial(kind.renew, held=held, lease_s=self._settings.lease_s))
            for id_ in self._store.read(partial(kind.withdrawn, held=held)):
                self._kill(id_)
        for id_ in self._store.read(expiry.overdue):
            try:
                self._store.write(partial(expiry.end_overdue, id_=id_))
            except Exception:
                log.exception("%s waited too long and could not be ended", id_)
        findings.look(self._store)

    def _kill(self, id_: str) -> None:
        with self._lock:
            _, worker = self._running.get(id_, (None, None))
            if worker is not None:
                worker.kill()

    def _compute(self, waiting: PendingJob, worker: Worker) -> None:
        id_ = waiting.id
        try:
            if worker is self._candidates and waiting.of != self._loaded:
                worker.close()
                self._loaded = waiting.of
            name, work = self._outcome(id_, worker)
            with self._lock:
                self._running[id_] = waiting, None
            if not self._stopping.is_set():
                self._store_end(id_, name, work)
        finally:
            self._free(waiting, worker)
            self.wake()

    def _outcome(self, id_: str, worker: Worker) -> tuple[str, Work[object]]:
        """How the computation ended, in a word, and what to store then."""
        try:
            result = self._result(id_, worker)
        except (NoWorker, StoreAway) as error:
            log.warning("%s waits: nothing could compute it: %s", id_, error)
            self._stopping.wait(self._settings.sweep_s)
            return "unavailable", partial(_kind(id_).release, id_=id_)
        except LutraError as error:
            log.exception("%s failed", id_)
            return "failed", partial(_kind(id_).give_up, id_=id_, error=error)
        except Exception as error:
            log.exception("%s was lost", id_)
            return "lost", self._lost(id_, str(error) if isinstance(error, WorkerLost) else repr(error))
        return "done", partial(_kind(id_).complete, id_=id_, result=result)

    def _result(self, id_: str, worker: Worker) -> Document:
        job = self._store.read(lambda u: _kind(id_).job(u, id_))
        with JOB_SECONDS.labels(job.task).time():
            return _kind(id_).checked(worker.run(job.task, job.payload), job.payload)

    def _lost(self, id_: str, why: str) -> Work[object]:
        if _kind(id_) is model_jobs:
            return partial(model_jobs.lose, id_=id_, why=why)
        return partial(lease.lose, id_=id_, why=why, max_attempts=self._settings.max_attempts)

    def _store_end(self, id_: str, name: str, work: Work[object]) -> None:
        """An end that cannot be stored is one more attempt; where not even that can be stored, the lease runs out."""
        JOBS.labels(name).inc()
        try:
            self._store.write(work)
            return
        except StoreAway:
            log.warning("%s ended while the store was away: it is recomputed", id_)
            return
        except Exception:
            log.exception("the end of %s could not be stored", id_)
        try:
            self._store.write(self._lost(id_, "its end could not be stored"))
        except Exception:
            log.exception("the lease of %s will expire", id_)
