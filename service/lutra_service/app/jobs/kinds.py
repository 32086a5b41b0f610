"""The parts of every kind of computation, which `executor` puts together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lutra_models.errors import ComputeCode, LutraError

from lutra_service.common.documents import Document
from lutra_service.common.settings import Settings
from lutra_service.db.schema.records import JobName
from lutra_service.db.store import UnitOfWork
from lutra_service.workers.protocol import Worker


class ComputationLost(LutraError):
    """As many workers as its kind allows were lost while they computed only this job."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = ComputeCode.LOST


@dataclass(frozen=True)
class Task:
    """The input of a worker: the name of a function of `workers.worker`, and its argument.

    `code` is the id of a model version whose packages the worker may load. That process computes nothing else.
    """

    name: str
    payload: Document
    code: str = ""


@dataclass(frozen=True)
class JobKind:
    """A kind of computation. The functions get the id of the job.

    `prepare` returns the worker's task, or None if the job is no longer wanted. `check` takes an answer and the task's
    payload, returns what `complete` stores, and raises InvalidAnswer. `give_up` stores a failure; its task is None if
    the task could not be prepared. `complete` and `give_up` return the outcome in a word. After `tries` lost workers a
    job is given up.
    """

    name: JobName
    prepare: Callable[[UnitOfWork, str], Task | None]
    check: Callable[[Document, Mapping[str, Any]], Document]
    complete: Callable[[UnitOfWork, str, Document], str]
    give_up: Callable[[UnitOfWork, str, Task | None, LutraError], str]
    tries: Callable[[Settings], int] = lambda _: 1


@dataclass(frozen=True)
class Pool:
    """The workers of some kinds of jobs, in the order of their priority. Up to `size` workers compute at the same time.

    `make` makes a worker with its limits of time and memory. Workers of a pool that `gives_way` pause while a pool of
    higher priority computes on this machine. In a pool that is `ready`, one worker starts before the first job, because
    a new process loads for seconds. In a pool that `stays`, idle workers are kept.
    """

    kinds: tuple[JobKind, ...]
    make: Callable[[Settings], Worker]
    size: Callable[[Settings], int] = lambda _: 1
    gives_way: bool = False
    ready: bool = False
    stays: bool = True
