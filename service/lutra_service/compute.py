"""Computations outside the API's process: rows `computing` are claimed, submitted to an executor, and completed.

The executor is a process pool on one machine or a Dask cluster's; both are `concurrent.futures` and neither keeps any
state: a worker that dies loses nothing but time.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from functools import partial
from importlib import import_module
from multiprocessing.connection import wait
from typing import Any, Protocol

from lutra_models.errors import LutraError

from lutra_service.app import computing
from lutra_service.app.computing import Job
from lutra_service.db.store import Store, Unit
from lutra_service.settings import Settings
from lutra_service.telemetry import JOB_SECONDS, JOBS

log = logging.getLogger(__name__)

WORKER = "lutra_service.worker"
IN_FLIGHT_PER_WORKER = 4
LEASES = 10
"""A computation's lease is renewed this often before it counts as hung."""
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class MakesExecutor(Protocol):
    def __call__(self) -> Executor: ...


def call(task: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Run in the executor: the worker's function `task`, resolved there by name."""
    result: dict[str, Any] = getattr(import_module(WORKER), task)(payload)
    return result


def make_executor(settings: Settings) -> Executor:
    if settings.dask_scheduler is not None:
        from distributed import Client

        client: Any = Client(settings.dask_scheduler, set_as_default=False)  # type: ignore[no-untyped-call]
        executor: Executor = client.get_executor(pure=False)
        return executor
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(settings.workers, mp_context=spawn, initializer=_prepare)


class Compute:
    """Claims, submits, completes. `wake` may be called from any thread; `start` and `stop` once each."""

    def __init__(self, store: Store, settings: Settings, executor: MakesExecutor | None = None) -> None:
        self._store = store
        self._settings = settings
        self._make: MakesExecutor = executor or partial(make_executor, settings)
        self._executor: Executor | None = None
        self._held: dict[str, float] = {}
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="compute", daemon=True)

    @property
    def executor(self) -> Executor | None:
        """The one in use; None before the first turn, and after a loss until the next."""
        return self._executor

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """What is being computed is left to whoever starts next."""
        self._stopping = True
        self.wake()
        if self._thread.ident is not None:
            self._thread.join(timeout=10)
        if self._executor is not None:
            _end(self._executor)
        for id_ in list(self._held):
            self._release(id_)

    def wake(self) -> None:
        self._news.set()

    def heard(self, changed: set[str]) -> None:
        """A listener of the store: recommendations that changed may be ones to compute."""
        if any(id_.startswith("rec_") for id_ in changed):
            self.wake()

    def _run(self) -> None:
        swept = 0.0
        while not self._stopping:
            try:
                self._claim()
                if time.monotonic() - swept > self._settings.sweep_s:
                    self._sweep()
                    swept = time.monotonic()
            except Exception:
                # The database or the cluster may be away for a while; the rows wait.
                log.exception("the computations' turn failed")
            self._news.wait(self._settings.sweep_s)
            self._news.clear()

    def _claim(self) -> None:
        pool = self._pool()
        room = IN_FLIGHT_PER_WORKER * self._settings.workers - len(self._held)
        if room <= 0 or not self._store.read(lambda u: u.recommendations.claimable(u.now, 1)):
            return
        lease_s, attempts = self._settings.lease_s, self._settings.max_attempts
        for job in self._store.write(lambda u: computing.claim(u, lease_s, attempts, room)):
            self._submit(job, pool)

    def _sweep(self) -> None:
        """Keep the leases of what is still being computed, and end what waited too long, each by itself."""
        oldest = time.monotonic() - LEASES * self._settings.lease_s
        held = [id_ for id_, since in list(self._held.items()) if since > oldest]
        self._store.write(lambda u: computing.renew(u, held, self._settings.lease_s))
        for id_ in self._store.read(computing.overdue):
            try:
                self._store.write(partial(computing.end_overdue, id_=id_))
            except Exception:
                log.exception("%s waited too long and could not be ended", id_)

    def _submit(self, job: Job, pool: Executor) -> None:
        self._held[job.recommendation_id] = time.monotonic()
        try:
            future = pool.submit(call, job.task, job.payload)
        except BrokenExecutor:
            self._lost(job, pool)
            return
        future.add_done_callback(partial(self._done, job, pool))

    def _done(self, job: Job, pool: Executor, future: Future[dict[str, Any]]) -> None:
        if self._stopping:
            return
        JOB_SECONDS.labels(job.task).observe(time.monotonic() - self._held[job.recommendation_id])
        try:
            result = future.result()
        except (BrokenExecutor, CancelledError):
            self._lost(job, pool)
        except Exception as error:
            self._failed(job, error)
        else:
            self._end(job, "done", lambda u: computing.complete(u, job.recommendation_id, result))

    def _failed(self, job: Job, error: Exception) -> None:
        code = error.code if isinstance(error, LutraError) else "internal_error"
        log.error("%s of %s failed", job.task, job.recommendation_id, exc_info=error)
        self._end(job, "failed", lambda u: computing.give_up(u, job.recommendation_id, f"{code}: {error}"))

    def _lost(self, job: Job, pool: Executor) -> None:
        log.warning("the worker of %s was lost; it is submitted again", job.recommendation_id)
        with self._lock:
            if self._executor is pool:
                self._executor = None
        self._end(job, "lost", lambda u: u.recommendations.release(job.recommendation_id))

    def _release(self, id_: str) -> None:
        self._held.pop(id_, None)
        try:
            self._store.write(lambda u: u.recommendations.release(id_))
        except Exception:
            log.exception("the lease of %s could not be released; it runs out", id_)

    def _end(self, job: Job, result: str, work: Callable[[Unit], object]) -> None:
        """Where this cannot be stored, the lease runs out and the row is computed again."""
        self._held.pop(job.recommendation_id, None)
        JOBS.labels(job.task, result).inc()
        try:
            self._store.write(work)
        except Exception:
            log.exception("the end of %s could not be stored", job.recommendation_id)
        self.wake()

    def _pool(self) -> Executor:
        with self._lock:
            if self._executor is None:
                self._executor = self._make()
                self._executor.submit(_warm)
            return self._executor


def _prepare() -> None:
    """In a new worker process: one thread each, Ctrl-C is the parent's business, and no life without the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in _ONE_THREAD:
        os.environ[name] = "1"
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A pool's worker holds both ends of its queue, so it would wait forever for a parent that was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _warm() -> None:
    import_module(WORKER).warm()


def _end(executor: Executor) -> None:
    if not isinstance(executor, ProcessPoolExecutor):
        executor.shutdown(wait=False)
        return
    processes = list((executor._processes or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
