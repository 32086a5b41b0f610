"""The worker that the settings ask for: a process of this machine, or one of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable

from lutra_service.common.settings import Settings
from lutra_service.workers.cluster import Cluster, cluster_worker
from lutra_service.workers.processes import local_worker
from lutra_service.workers.protocol import Limits, Worker

MakesWorker = Callable[[], Worker]


def make_worker(settings: Settings, *, warm: bool = True) -> Worker:
    """`warm`: for requests that somebody waits for."""
    limits = Limits(settings.fit_timeout_s, settings.fit_memory_bytes)
    if settings.dask_scheduler is None:
        return local_worker(limits, warm=warm)
    tls = (settings.dask_tls_ca, settings.dask_tls_cert, settings.dask_tls_key)
    return cluster_worker(Cluster(settings.dask_scheduler, *tls), limits)
