"""Computations outside the API's process: rows `computing` are claimed, submitted to an executor, and completed.

The executor is a process pool on one machine or a Dask cluster's; both are `concurrent.futures` and neither keeps any
state: a worker that dies loses nothing but time.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from functools import partial
from importlib import import_module
from typing import Any, Protocol

from lutra_models.errors import LutraError

from lutra_service.app import computing
from lutra_service.app.computing import Job
from lutra_service.db.store import Store
from lutra_service.settings import Settings
from lutra_service.telemetry import JOB_SECONDS, JOBS

log = logging.getLogger(__name__)

WORKER = "lutra_service.worker"
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

        client: Any = Client(settings.dask_scheduler)  # type: ignore[no-untyped-call]
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
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="compute", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping = True
        self.wake()
        if self._thread.ident is not None:
            self._thread.join(timeout=10)
        if self._executor is not None:
            _end(self._executor)

    def wake(self, _: object = None) -> None:
        self._news.set()

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._turn()
            except Exception:
                # The database may be away for a while; the rows wait in it.
                log.exception("the computations' turn failed")
            self._news.wait(self._settings.sweep_s)
            self._news.clear()

    def _turn(self) -> None:
        settings = self._settings
        if self._executor is None:
            self._submit_to(self._pool(), "warm")
        for job in self._store.write(lambda u: computing.claim(u, settings.lease_s, settings.max_attempts)):
            self._submit(job)
        self._store.write(computing.sweep)

    def _submit(self, job: Job) -> None:
        pool = self._pool()
        try:
            future = self._submit_to(pool, job.task, job.payload)
        except BrokenExecutor:
            self._lost(job, pool)
            return
        future.add_done_callback(partial(self._done, job, pool, time.monotonic()))

    def _submit_to(self, pool: Executor, task: str, *payload: Mapping[str, Any]) -> Future[Any]:
        return pool.submit(call, task, *payload) if payload else pool.submit(_warm)

    def _done(self, job: Job, pool: Executor, since: float, future: Future[dict[str, Any]]) -> None:
        if self._stopping:
            return
        JOB_SECONDS.labels(job.task).observe(time.monotonic() - since)
        try:
            result = future.result()
        except (BrokenExecutor, CancelledError):
            self._lost(job, pool)
        except Exception as error:
            self._failed(job, error)
        else:
            self._write(lambda u: computing.complete(u, job.recommendation_id, result))
            JOBS.labels(job.task, "done").inc()

    def _failed(self, job: Job, error: Exception) -> None:
        code = error.code if isinstance(error, LutraError) else "internal_error"
        log.error("%s of %s failed", job.task, job.recommendation_id, exc_info=error)
        JOBS.labels(job.task, "failed").inc()
        self._write(lambda u: computing.give_up(u, job.recommendation_id, f"{code}: {error}"))

    def _lost(self, job: Job, pool: Executor) -> None:
        log.warning("the worker of %s was lost; it is submitted again", job.recommendation_id)
        JOBS.labels(job.task, "lost").inc()
        with self._lock:
            if self._executor is pool:
                self._executor = None
        self._write(lambda u: u.recommendations.release(job.recommendation_id))
        self.wake()

    def _write(self, work: Callable[[Any], Any]) -> None:
        """Where this fails, the lease runs out and the row is computed again."""
        try:
            self._store.write(work)
        except Exception:
            log.exception("a computation's end could not be stored")

    def _pool(self) -> Executor:
        with self._lock:
            if self._executor is None:
                self._executor = self._make()
            return self._executor


def _prepare() -> None:
    """In a new worker process: one thread each, and Ctrl-C is the parent's business."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in _ONE_THREAD:
        os.environ[name] = "1"


def _warm() -> None:
    import_module(WORKER).warm()


def _end(executor: Executor) -> None:
    executor.shutdown(wait=False, cancel_futures=True)
    for process in list((getattr(executor, "_processes", None) or {}).values()):
        process.terminate()
