"""The worker that the settings ask for: a process of this machine, or one of a Dask cluster; and that of candidates."""

from __future__ import annotations

from collections.abc import Callable

from lutra_service.common.settings import Settings
from lutra_service.workers.cluster import Cluster, cluster_worker
from lutra_service.workers.processes import local_worker
from lutra_service.workers.protocol import CANDIDATE, Limits, Worker

MakesWorker = Callable[[], Worker]


def make_worker(settings: Settings, *, waited_for: bool = True) -> Worker:
    """`waited_for`: for requests that somebody waits for."""
    limits = Limits(settings.fit_timeout_s, settings.fit_memory_bytes)
    if settings.dask_scheduler is None:
        return local_worker(limits, warm=waited_for)
    tls = (settings.dask_tls_ca, settings.dask_tls_cert, settings.dask_tls_key)
    return cluster_worker(Cluster(settings.dask_scheduler, *tls), limits)


def candidate_worker(settings: Settings) -> Worker:
    """A process of this machine, also where a cluster computes the recommendations: it takes no place of theirs."""
    seconds = min(CANDIDATE.timeout_s, settings.fit_timeout_s)
    memory_bytes = min(CANDIDATE.memory_bytes, settings.fit_memory_bytes)
    return local_worker(Limits(seconds, memory_bytes), warm=False, beside=True)
