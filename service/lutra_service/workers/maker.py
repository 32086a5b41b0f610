"""The worker that the settings ask for: a process of this machine, or one of a Dask cluster; and that of candidates."""

from __future__ import annotations

from collections.abc import Callable

from lutra_service.common.settings import Settings
from lutra_service.workers.cluster import Cluster, cluster_worker
from lutra_service.workers.processes import local_worker
from lutra_service.workers.protocol import Limits, Worker, of_candidate

MakesWorker = Callable[[], Worker]


def make_worker(settings: Settings, *, waited_for: bool = True) -> Worker:
    """`waited_for`: for requests that somebody waits for."""
    limits = limits_of(settings)
    if settings.dask_scheduler is None:
        return local_worker(limits, warm=waited_for)
    tls = (settings.dask_tls_ca, settings.dask_tls_cert, settings.dask_tls_key)
    return cluster_worker(Cluster(settings.dask_scheduler, *tls), limits)


def candidate_worker(settings: Settings) -> Worker:
    """A process of this machine, even if a cluster computes the recommendations: it takes no slot there."""
    return local_worker(of_candidate(limits_of(settings)), warm=False, beside=True)


def limits_of(settings: Settings) -> Limits:
    """The limits of a recommendation's computation."""
    return Limits(settings.fit_timeout_s, settings.fit_memory_bytes)
