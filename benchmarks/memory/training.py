"""`training`: `lutra train` over a thousand workloads, killed half-way, gone on with, and again after ten new ones.

The workloads are variations of the MySQL tables (25 to 60 trials of some 20 settings each, see `fleet`), added as
imported data sets are. Seconds are the clock's, and the processor's of the command with its workers.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
from lutra_models.gp.options import DEFAULT
from lutra_service.app.jobs import workload_jobs
from lutra_service.app.workloads import lessons
from lutra_service.db import migrate
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store, UnitOfWork

from benchmarks.memory.fleet import TABLES, Variation, engine_of
from benchmarks.memory.gain import RESULTS
from benchmarks.tuning.rows import CODE, Results

KEY = ("workloads", "code")
NEW = 10
LOOK_S = 0.5


@click.command("training")
@click.option("--workloads", type=click.IntRange(4), default=1000, show_default=True)
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True)
@click.option("--results", type=click.Path(file_okay=False, path_type=Path), default=RESULTS)
def training_command(workloads: int, workers: int, results: Path) -> None:
    """Train a store of workloads, and say what it took."""
    rows = Results(results / "training.jsonl", KEY)
    identity = {"workloads": workloads, "code": CODE}
    if identity not in rows:
        rows.add({**identity, "workers": workers, **_measured(workloads, workers)})
    click.echo((results / "training.jsonl").read_text().splitlines()[-1])


def _measured(count: int, workers: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/lutra.db"
        engine = make_engine(url)
        migrate.upgrade(engine)
        store = Store(engine)
        _fill(store, 0, count)
        killed = _train(url, workers, until=lambda: _done(store) >= count // 2)
        half = _done(store)
        rest = _train(url, workers)
        _fill(store, count, NEW)
        again = _train(url, workers)
        nothing = _train(url, workers)
        done = _done(store)
        store.close()
    first = killed["seconds"] + rest["seconds"]
    return {
        "seconds": round(first, 1),
        "processor_s": round(killed["processor_s"] + rest["processor_s"], 1),
        "most_mib": max(killed["most_mib"], rest["most_mib"]),
        "killed_after": half,
        "then": rest["said"],
        "ten_more_s": again["seconds"],
        "ten_more_processor_s": again["processor_s"],
        "ten_more": again["said"],
        "share": round(again["seconds"] / first, 4),
        "processor_share": round(again["processor_s"] / (killed["processor_s"] + rest["processor_s"]), 4),
        "nothing_new_s": nothing["seconds"],
        "nothing_new_processor_s": nothing["processor_s"],
        "done": done,
    }


def _fill(store: Store, first: int, count: int) -> None:
    names = sorted(name for name in TABLES if engine_of(name) == "mysql")
    for i in range(first, first + count):
        history = Variation(names[i % len(names)], 10_000 + i).history()
        store.write(partial(lessons.imported, history=history, engine="mysql", name=f"set {i}"))


def _done(store: Store) -> int:
    want = lessons.fitted_with(DEFAULT.fingerprint)

    def done(unit: UnitOfWork) -> int:
        return unit.workloads.extent()[0] - len(unit.workloads.unfitted(want)) - workload_jobs.left(unit)

    return store.read(done)


def _train(url: str, workers: int, until: Callable[[], bool] | None = None) -> dict[str, Any]:
    """`lutra train`, killed once `until` says so."""
    environment = {**os.environ, "LUTRA_DATABASE_URL": url}
    command = [str(Path(sys.executable).parent / "lutra"), "train", "--workers", str(workers)]
    began = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    seen = Seen()
    watching = threading.Thread(target=seen.watch, args=(process.pid,), daemon=True)
    watching.start()
    if until is not None:
        while process.poll() is None and not until():
            time.sleep(LOOK_S)
        process.send_signal(signal.SIGKILL)
    said, _ = process.communicate()
    seconds = time.monotonic() - began
    watching.join()
    told = said.strip().splitlines()[-1] if said.strip() else ""
    return {
        "seconds": round(seconds, 2),
        "processor_s": round(sum(seen.processor_s.values()), 2),
        "most_mib": round(seen.most_bytes / 2**20),
        "said": told,
    }


class Seen:
    """What the command and its workers took, looked at now and then: a worker that was killed is counted too."""

    def __init__(self) -> None:
        self.most_bytes = 0
        self.processor_s: dict[int, float] = {}

    def watch(self, pid: int) -> None:
        """As long as the process runs."""
        while (processes := [pid, *_children(pid)]) and _seconds(pid) is not None:
            self.most_bytes = max(self.most_bytes, sum(map(_resident, processes)))
            self.processor_s |= {p: s for p in processes if (s := _seconds(p)) is not None}
            time.sleep(LOOK_S / 5)


def _children(pid: int) -> list[int]:
    try:
        tasks = list((Path("/proc") / str(pid) / "task").iterdir())
        return [int(c) for t in tasks for c in (t / "children").read_text().split()]
    except OSError:
        return []


def _seconds(pid: int) -> float | None:
    """The processor's; None once the process ended."""
    try:
        told = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if told[0] == "Z" else (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    try:
        return int((Path("/proc") / str(pid) / "statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0
