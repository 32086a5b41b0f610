"""A Dask cluster as a Worker: the computation runs in a separate process on one of the cluster's machines.

Data from a Dask scheduler may contain a pickle, and unpickling runs code. The service therefore never connects to one:
a process of `gateway` does, which unpickles only plain data and passes on lines of JSON.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lutra_service.workers.processes import TASKS, WorkerProcess, local_worker
from lutra_service.workers.protocol import Limits, NoWorker, sealed

CONNECT_S = 10.0


@dataclass(frozen=True)
class Cluster:
    """A scheduler's address and, for tls://, the files that prove the identities."""

    address: str
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    connect_s: float = CONNECT_S

    def to_json(self) -> str:
        return json.dumps(asdict(self), default=str)

    def connect(self) -> Any:
        from distributed import Client
        from distributed.security import Security

        encrypted = self.address.startswith("tls://")
        files = {"tls_ca_file": self.tls_ca, "tls_client_cert": self.tls_cert, "tls_client_key": self.tls_key}
        named = {name: str(path) for name, path in files.items() if path is not None}
        security: Any = Security(require_encryption=encrypted, **named)
        return Client(self.address, timeout=self.connect_s, security=security, set_as_default=False)


def cluster_worker(cluster: Cluster, limits: Limits, tasks: str = TASKS) -> WorkerProcess:
    """The worker enforces the deadline of its computation; a gateway that is silent for longer is restarted."""
    given = [cluster.to_json(), tasks, str(limits.timeout_s), str(limits.memory_bytes)]
    return WorkerProcess(["lutra_service.workers.gateway", *given], 2 * limits.timeout_s, NoWorker)


_idle: list[WorkerProcess] = []


def compute(task: str, payload: str, limits: Limits, tasks: str) -> str:
    """Run by the cluster: the same as on the service's own machine. JSON in, a sealed document as JSON out."""
    worker = _idle.pop() if _idle else local_worker(limits, tasks)
    try:
        return json.dumps(sealed(lambda: worker.run(task, json.loads(payload))))
    finally:
        _idle.append(worker)
