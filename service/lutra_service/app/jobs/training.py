"""Training: every workload without a current fit is fitted, in workers, each once.

The rows record the progress: the next training continues one that was ended halfway, and several may run at the same
time. A session's model was fitted at its last request; it is fitted again if the serving model version has other
options.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from lutra_models.errors import LutraError
from lutra_models.gp.options import DEFAULT

from lutra_service.app.jobs import results
from lutra_service.app.model_versions.serving import serving
from lutra_service.app.workloads import lessons
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Snapshot
from lutra_service.db.store import Store, UnitOfWork
from lutra_service.workers.maker import MakesWorker
from lutra_service.workers.protocol import NoWorker, Worker, WorkerLost

log = logging.getLogger(__name__)

LEASE_S = 60.0
BATCH = 100
WAIT_S = 1.0
A_WORKER = 16
"""The number of workloads for which one more worker is worthwhile: its start takes as long as several fits."""
ENDS = ("fitted", "taught nothing", "failed")


@dataclass(frozen=True)
class Trained:
    """The result of a training: by outcome, workloads that were fitted.

    `known` workloads already had a current fit.
    """

    known: int
    ends: Mapping[str, int]
    merged: int
    seconds: float

    def __str__(self) -> str:
        done = ", ".join(f"{self.ends.get(end, 0)} {end}" for end in ENDS)
        return f"{done}; {self.known} known already, {self.merged} merged; {self.seconds:.1f} s"


@dataclass(frozen=True)
class Progress:
    """The progress of a training."""

    done: int
    total: int
    seconds: float

    def __str__(self) -> str:
        left = self.seconds / self.done * (self.total - self.done) if self.done else 0.0
        return f"{self.done} of {self.total} in {self.seconds:.0f} s, about {left:.0f} s left"


class Training:
    """`run` as often as wanted, one at a time. `stop` is for good, and may be called from any thread: what is being
    fitted is left to the next training."""

    def __init__(
        self,
        store: Store,
        make_worker: MakesWorker,
        workers: int = 1,
        told: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._store, self._make, self._workers, self._told = store, make_worker, workers, told
        self._options = DEFAULT
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._ends: Counter[str] = Counter()
        self._total = 0
        self._began = 0.0
        self._ids: list[str] = []
        self._running: list[Worker] = []
        self._broken: list[Exception] = []

    @property
    def _want(self) -> str:
        return lessons.fitted_with(self._options.fingerprint)

    @property
    def stopped(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        self._stopping.set()
        with self._lock:
            for worker in self._running:
                worker.kill()

    def run(self) -> Trained:
        """Raises NoWorker if nothing could compute."""
        self._began, self._ends, self._broken, self._ids = time.monotonic(), Counter(), [], []
        self._options = self._store.read(serving).options
        known, self._total = self._store.read(self._counted)
        if self._total:
            self._fit_all()
        if self._broken:
            raise self._broken[0]
        merged = self._ends.pop("merged", 0)
        return Trained(known, dict(self._ends), merged, time.monotonic() - self._began)

    def _counted(self, unit: UnitOfWork) -> tuple[int, int]:
        waiting = unit.workloads.count_unfitted(self._want)
        return unit.workloads.extent()[0] - waiting, waiting

    def _fit_all(self) -> None:
        threads = [
            threading.Thread(target=self._work, daemon=True)
            for _ in range(min(self._workers, 1 + self._total // A_WORKER))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():  # a join without an end cannot be interrupted
                thread.join(WAIT_S)

    def _work(self) -> None:
        worker = self._make()
        with self._lock:
            self._running.append(worker)
        try:
            while not self._stopping.is_set() and (id_ := self._next()) is not None:
                self._fit(worker, id_)
        except Exception as error:
            if not self._stopping.is_set():
                self._broken.append(error)
        finally:
            with self._lock:
                self._running.remove(worker)
            worker.close()

    def _next(self) -> str | None:
        """A workload that nobody else fits; None if none is left. What others have in hand is waited for."""
        while not self._stopping.is_set():
            id_ = self._named()
            if id_ is not None:
                if self._store.write(partial(self._claimed, id_)):
                    return id_
            elif self._store.read(lambda u: u.workloads.count_unfitted(self._want)):
                self._stopping.wait(WAIT_S)
            else:
                return None
        return None

    def _named(self) -> str | None:
        """One that is to be fitted, or was a moment ago. Looking for them takes all rows: many are found at once."""
        with self._lock:
            if not self._ids:
                self._ids = self._store.read(lambda u: u.workloads.unfitted(self._want, u.now, BATCH))[::-1]
            return self._ids.pop() if self._ids else None

    def _claimed(self, id_: str, unit: UnitOfWork) -> bool:
        return unit.workloads.claim(id_, self._want, unit.now, unit.now + timedelta(seconds=LEASE_S))

    def _fit(self, worker: Worker, id_: str) -> None:
        row = self._store.read(lambda u: u.workloads.get(id_))
        request = lessons.request(row.history, self._options)
        try:
            model = results.learned(worker.run("learn", request), request)
            told = None if model is None else lessons.taught(model, row.metric)
        except NoWorker:
            self._store.write(lambda u: u.workloads.change(id_, lease_until=None))
            raise
        except (LutraError, WorkerLost) as error:
            if self._stopping.is_set():
                return
            log.warning("workload %s could not be fitted: %s", id_, error)
            self._end("failed", partial(_failed, id_, row.key, self._want, f"{type(error).__name__}: {error}"))
            return
        end = "taught nothing" if model is None else "fitted"
        self._end(end, partial(_stored, id_, row.key, self._want, model, told))

    def _end(self, name: str, store: Callable[[UnitOfWork], bool]) -> None:
        merged = self._store.write(store)
        with self._lock:
            self._ends[name] += 1
            self._ends["merged"] += merged
            done = sum(self._ends[end] for end in ENDS)
        self._told(Progress(done, max(self._total, done), time.monotonic() - self._began))


def _failed(id_: str, key: str, want: str, error: str, unit: UnitOfWork) -> bool:
    """The same content fails in the same way: it is not fitted again until the options are others."""
    unit.workloads.learn(id_, unit.now, only=key, fitted_with=want, error=error[:1000], taught=None)
    return False


def _stored(id_: str, key: str, want: str, model: Document | None, told: Document | None, unit: UnitOfWork) -> bool:
    """Keep the model, where the workload's content is still the same; whether it was merged."""
    snapshot = None if model is None else unit.new_id("snap")
    kept = unit.workloads.learn(id_, unit.now, only=key, fitted_with=want, taught=told, snapshot_id=snapshot)
    if not kept or model is None or snapshot is None:
        return False
    unit.snapshots.add(
        Snapshot(
            id=snapshot,
            database_id=None,
            session_id=None,
            key=key,
            observations=len(next(iter(model["posteriors"].values()))["z"]),
            payload=model,
            created_at=unit.now,
        )
    )
    owner = unit.workloads.owner(id_)
    return owner is not None and lessons.merge(unit, id_, owner) not in (None, id_)
