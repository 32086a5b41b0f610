"""The program between the service and a Dask cluster.

`distributed` unpickles some messages of a scheduler and its workers. In this process a pickle may contain only plain
data, and no callable.
"""

from __future__ import annotations

import json
import sys
import threading
from functools import partial
from importlib import import_module
from typing import Any

from lutra_service.common.documents import Document
from lutra_service.workers.cluster import Cluster, compute
from lutra_service.workers.protocol import Limits, NoWorker, WorkerLost, opened
from lutra_service.workers.worker_process import serve

_PLAIN = {("builtins", "str"), ("builtins", "bytes")}
_LOOK_S = 1.0


class PickleRefused(Exception):
    """Something other than plain data came as a pickle."""


def main() -> None:
    """Arguments: the cluster, the module of the tasks, and the limits of one computation."""
    cluster, tasks, timeout_s, memory_bytes = sys.argv[1:]
    import_module("distributed")  # which pickles some functions of its own, for good reason, while it is loaded
    refused = refuse_pickles()
    client = Cluster(**json.loads(cluster)).connect()
    serve(partial(_compute, client, Limits(float(timeout_s), int(memory_bytes)), tasks, refused))


def refuse_pickles() -> list[str]:
    """From now on, permanently. Refused names are added to the list."""
    refused: list[str] = []

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        # Every name in a pickle, and so every function that it would call, is announced here before it is looked up.
        if event == "pickle.find_class" and tuple(arguments) not in _PLAIN:
            refused.append(".".join(map(str, arguments)))
            raise PickleRefused(f"a pickle names {refused[-1]}")

    sys.addaudithook(hook)
    return refused


def _compute(
    client: Any, limits: Limits, tasks: str, refused: list[str], task: str, payload: dict[str, Any]
) -> Document:
    future = client.submit(compute, task, json.dumps(payload), limits, tasks, pure=False)
    status = _awaited(future, refused)
    if status != "finished":
        raise NoWorker(f"the cluster lost it ({status}); the scheduler's log says why")
    try:
        text = future.result()
    except PickleRefused as error:
        raise WorkerLost(f"the cluster's answer is not plain data: {error}") from error
    except Exception as error:
        raise NoWorker(f"the cluster did not deliver the answer: {type(error).__name__}: {error}") from error
    if not isinstance(text, str):
        raise WorkerLost(f"the cluster's answer is a {type(text).__name__}, no text")
    return opened(json.loads(text))


def _awaited(future: Any, refused: list[str]) -> str:
    """What became of it, in distributed's word."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    while not done.wait(_LOOK_S):
        if refused:  # why a task failed in the cluster is a pickle too, and not the computation's fault
            raise NoWorker(f"the cluster sent a pickle that names {refused[-1]}; the scheduler's log may say why")
    return str(future.status)


if __name__ == "__main__":
    main()
