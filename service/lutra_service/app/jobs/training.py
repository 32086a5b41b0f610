"""Training at the command line: past workloads are fitted by workers of this process, beside those of the service."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from lutra_service.app.jobs import workload_jobs
from lutra_service.app.jobs.executor import Compute
from lutra_service.common.settings import Settings
from lutra_service.db.store import Store
from lutra_service.workers.maker import MakesWorker
from lutra_service.workers.protocol import NoWorker

WAIT_S, SAY_S = 0.2, 5.0
A_WORKER = 16
"""The number of workloads per worker: fewer do not justify the start of one more, which takes as long as a few fits."""


@dataclass(frozen=True)
class Trained:
    """The result of a training, so far or at its end: the outcomes for `total` workloads.

    `known` workloads needed no fit.
    """

    known: int
    total: int
    ends: Mapping[str, int]
    seconds: float

    @property
    def fitted(self) -> int:
        return self.ends.get("fitted", 0) + self.ends.get("merged", 0)

    @property
    def progress(self) -> str:
        done = sum(self.ends.values())
        left = self.seconds / done * (self.total - done) if done else 0.0
        return f"{done} of {max(done, self.total)} in {self.seconds:.0f} s, about {max(left, 0.0):.0f} s left"

    def __str__(self) -> str:
        nothing, failed, merged = (self.ends.get(end, 0) for end in ("taught nothing", "failed", "merged"))
        return (
            f"{self.fitted} fitted, {nothing} taught nothing, {failed} failed; {self.known} known already, "
            f"{merged} merged; {self.seconds:.1f} s"
        )


def train(
    store: Store,
    settings: Settings,
    stopping: threading.Event,
    say: Callable[[str], None],
    executor: MakesWorker | None = None,
) -> Trained:
    """Fit every workload that needs it, and wait for those that other processes fit. `say` the progress every few
    seconds. Fits that are interrupted by `stopping` stay in the queue. Raises NoWorker if nothing could compute.
    """
    began = said = time.monotonic()
    store.write(workload_jobs.queue)
    total = store.read(workload_jobs.left)
    known = store.read(lambda u: u.workloads.extent()[0]) - total
    workers = min(settings.workers, 1 + total // A_WORKER)
    compute = Compute(store, settings, executor, [replace(workload_jobs.POOL, size=lambda _: workers)])

    def trained() -> Trained:
        return Trained(known, total, compute.ends, time.monotonic() - began)

    compute.start()
    try:
        while not (stopping.is_set() or compute.unavailable) and store.read(workload_jobs.left):
            stopping.wait(WAIT_S)
            if time.monotonic() - said >= SAY_S:
                said = time.monotonic()
                say(trained().progress)
    finally:
        compute.stop()
    if compute.unavailable:
        raise NoWorker(compute.unavailable)
    return trained()
