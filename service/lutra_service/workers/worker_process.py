"""The program of a worker's process: reads a line, computes, writes a line. It ends with its parent process."""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType
from typing import Any

from lutra_service.common.documents import Document
from lutra_service.workers.protocol import sealed

Compute = Callable[[str, dict[str, Any]], Document]
NICE = 5


def main() -> None:
    """Arguments: the module of the tasks, the memory limit of the process in bytes, and its role: `warm`, or `beside`
    others.
    """
    tasks, memory_bytes = sys.argv[1], int(sys.argv[2])
    if "beside" in sys.argv[3:]:
        _step_back()
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    module = import_module(tasks)
    if "warm" in sys.argv[3:]:
        module.warm()
    serve(partial(_call, module))


def serve(compute: Compute) -> None:
    """Report readiness, then answer each request in order."""
    # The answers have the standard output to themselves: what libraries print goes where the log goes.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests,), daemon=True).start()
    _write(answers, b"{}")
    while True:
        request = json.loads(requests.get())
        document = sealed(partial(compute, request["task"], request["payload"]))
        _write(answers, _packed(document))


def _step_back() -> None:
    """Leave others the larger part of the processors, and be the first that ends where the memory runs out."""
    os.nice(NICE)
    # Where each session of processes has a share of its own, the share counts, and not what one process is among them.
    for name, value in (("autogroup", NICE), ("oom_score_adj", 1000)):
        with suppress(OSError):
            Path("/proc/self", name).write_text(str(value))


def _call(module: ModuleType, task: str, payload: dict[str, Any]) -> Document:
    result: Document = getattr(module, task)(payload)
    return result


def _packed(document: Document) -> bytes:
    try:
        return json.dumps(document, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        return json.dumps({"failed": ["internal_error", f"the answer is not a plain document: {error}"]}).encode()


def _receive(requests: SimpleQueue[bytes]) -> None:
    """On a thread of its own, so that a long computation does not outlive whoever waits for it."""
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


def _write(answers: Any, line: bytes) -> None:
    answers.write(line + b"\n")
    answers.flush()


if __name__ == "__main__":
    main()
