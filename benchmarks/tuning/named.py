"""The tasks by name, built once and kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import joblib
import lutra_models.history
import lutra_models.knobs
import sklearn

from benchmarks.tuning import tables
from benchmarks.tuning.tables import Table
from benchmarks.tuning.tasks import Task, forest_task

_HISTORIES = (
    ("twitter__task11", 0.05),
    ("twitter__task23", 0.05),
    ("sysbench_rw__task33", 0.15),
    ("sysbench_rw__task18", 0.15),
)
"""Tables of sessions, with one reading's relative deviation, as the repeats of the default show it."""
TASKS: tuple[tuple[str, Callable[[], Table]], ...] = (
    ("sysbench20", tables.sysbench),
    ("tuna-tpcc", partial(tables.tuna, "tuna-tpcc", "azure__postgres__tpcc", "maximize")),
    ("tuna-epinions", partial(tables.tuna, "tuna-epinions", "azure__postgres__epinions", "maximize")),
    ("tuna-tpch", partial(tables.tuna, "tuna-tpch", "azure__postgres__tpch", "minimize", 1e9)),
    ("job20", tables.join_order),
    ("tuna-cloudlab", partial(tables.tuna, "tuna-cloudlab", "cloudlab__postgres__tpcc", "maximize")),
    *((name, partial(tables.from_history, name, noise)) for name, noise in _HISTORIES),
    ("sysbench5", tables.sysbench_few),
)
CHOSEN_ON = ("sysbench20", "tuna-tpcc", "tuna-epinions", "tuna-tpch", "job20")
"""The tables that methods were chosen on. What was chosen is confirmed on the others."""
_SHAPING = ("tables", "cube", "tasks", "warm_tasks", "workloads")
"""The modules on which a task's content depends …"""
_KEPT = (lutra_models.history, lutra_models.knobs)
"""… and those whose objects are kept with it."""
NAMES = tuple(name for name, _ in TASKS)
T = TypeVar("T")


def task(name: str) -> Task:
    """A task by name, kept on disk once it is built (some seconds)."""
    makers = dict(TASKS)
    if name not in makers:
        raise ValueError(f"no task {name!r}; there are: {', '.join(NAMES)}")
    return kept(name, lambda: forest_task(makers[name]()))


def kept(name: str, build: Callable[[], T]) -> T:
    """What `build` makes, kept in the user's cache under a name that tells code, data and library apart."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "lutra-benchmarks"
    parts = [(Path(__file__).parent / f"{module}.py").read_bytes() for module in _SHAPING]
    parts += [Path(str(module.__file__)).read_bytes() for module in _KEPT]
    parts += [f"{p.name} {p.stat().st_size}".encode() for p in sorted(tables.DATA.rglob("*.gz"))]
    digest = hashlib.sha256(b"".join([*parts, sklearn.__version__.encode()])).hexdigest()[:12]
    path = folder / f"{name}-{digest}.joblib"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        joblib.dump(build(), unfinished)
        unfinished.replace(path)
    found: T = joblib.load(path)
    return found
