"""`nearest`: what it costs to ask a memory of fifty, a thousand and ten thousand workloads, and a recommendation then.

The store is filled with copies of the fleet's fitted workloads, each copy varied: levels moved, effects a little
stronger or weaker, counters at other rates. Each belongs to a database of its own. The models behind them are the
fleet's own, as many as there are: what a recommendation is given has its usual size.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from lutra_models import History, serial
from lutra_models.digest import fingerprint
from lutra_models.gp.memory.workload import Workload
from lutra_models.gp.options import DEFAULT
from lutra_models.lifecycle import RecommendationKind, RecommendationState
from lutra_service.app.memory import choose
from lutra_service.db import migrate
from lutra_service.db.schema import records
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store, UnitOfWork
from lutra_service.workers.processes import local_worker
from lutra_service.workers.protocol import Limits

from benchmarks.memory.fleet import TABLES, engine_of, fleet
from benchmarks.memory.gain import DEALT_OUT, EACH, RESULTS
from benchmarks.memory.past import Remembered, remembered
from benchmarks.tuning import tables
from benchmarks.tuning.rows import CODE, Results
from benchmarks.tuning.warm_tasks import past_workload

KEY = ("workloads", "code")
ASKED = 400
"""Questions, after those that fill the index."""
RECOMMENDATIONS = 12
TRIALS = (1, 2, 5, 10, 20)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
BATCH = 500
ROOT = Path(__file__).resolve().parents[2]


@click.command("nearest")
@click.option("--sizes", default="50,1000,10000", show_default=True)
@click.option("--results", type=click.Path(file_okay=False, path_type=Path), default=RESULTS)
def nearest_command(sizes: str, results: Path) -> None:
    """Ask memories of several sizes: seconds, memory, and what a recommendation takes that leans on them."""
    rows = Results(results / "nearest.jsonl", KEY)
    for size in map(int, sizes.split(",")):
        identity = {"workloads": size, "code": CODE}
        if identity not in rows:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.memory.nearest", str(size)],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT)},  # its worker starts elsewhere and imports from here
                check=True,
            )
            rows.add({**identity, **json.loads(done.stdout)})
        click.echo(str(next(r for r in reversed(list(_read(results))) if r["workloads"] == size)))


def _read(results: Path) -> Iterator[dict[str, Any]]:
    for line in (results / "nearest.jsonl").read_text().splitlines():
        yield json.loads(line)


def measured(size: int) -> dict[str, Any]:
    """In a process of its own, so that its memory is its own."""
    with tempfile.TemporaryDirectory() as folder, filled(Path(folder), size) as store:
        asked = questions()
        before = _resident()
        began = time.perf_counter()
        store.read(lambda unit: _ask(unit, *asked[0]))
        first = time.perf_counter() - began
        index_bytes = _resident() - before
        seconds, processor, chosen = [], [], []
        for i in range(ASKED):
            question = asked[i % len(asked)]
            began, used = time.perf_counter(), time.process_time()
            ids = store.read(partial(_ask, engine=question[0], history=question[1]))
            seconds.append(time.perf_counter() - began)
            processor.append(time.process_time() - used)
            chosen.append((question, ids))
        recommended = _recommendations(store, chosen[-RECOMMENDATIONS * 7 :: 7])
    return {
        "p50_ms": round(1e3 * float(np.median(seconds)), 2),
        "p99_ms": round(1e3 * float(np.quantile(seconds, 0.99)), 2),
        "processor_p50_ms": round(1e3 * float(np.median(processor)), 2),
        "processor_p99_ms": round(1e3 * float(np.quantile(processor, 0.99)), 2),
        "first_s": round(first, 2),
        "index_mib": round(index_bytes / 2**20, 1),
        "resident_mib": round(_resident() / 2**20, 1),
        **recommended,
    }


def _ask(unit: UnitOfWork, engine: str, history: History) -> list[str]:
    database = replace(unit.databases.get(f"db_{engine}"), policy={"past": "all"})
    return choose.past_of(unit, database, "ts_new", history, DEFAULT)


def _payloads(unit: UnitOfWork, ids: Sequence[str]) -> list[dict[str, Any]]:
    return [unit.snapshots.get(id_).payload for id_ in ids]


def questions() -> list[tuple[str, History]]:
    """Of each table's other half, what sessions of some lengths know."""
    out = []
    for name in sorted(TABLES):
        whole = past_workload(tables.parted(TABLES[name](), 1), rows=max(TRIALS), seed=9)
        out += [(engine_of(name), replace(whole, observations=whole.observations[:n])) for n in TRIALS]
    return out


def _recommendations(store: Store, asked: Sequence[tuple[tuple[str, History], list[str]]]) -> dict[str, float]:
    """Processor seconds of asking and computing, and the most that the worker's process had in memory."""
    worker = local_worker(Limits(600.0, 4 << 30), "benchmarks.memory.plain_worker")
    seconds = []
    for (engine, history), _ in asked:
        began = time.process_time()
        ids = store.read(partial(_ask, engine=engine, history=history))
        past = store.read(partial(_payloads, ids=ids))
        request = {"history": serial.history_to_dict(history), "entropy": [1], "past": past, "options": {}}
        answer = worker.run("recommend", request)
        seconds.append(time.process_time() - began + answer["processor_s"])
    worst = _most(worker.pid)
    worker.close()
    return {"recommendation_s": round(float(np.mean(seconds)), 3), "worker_mib": round(worst, 1)}


@contextmanager
def filled(folder: Path, size: int) -> Iterator[Store]:
    engine = make_engine(f"sqlite:///{folder}/lutra.db")
    migrate.upgrade(engine)
    store = Store(engine, clock=lambda: NOW)
    for name in ("mysql", "postgresql"):
        store.write(partial(_register, name=name))
    past = [r for r in remembered(fleet(EACH, DEALT_OUT)) if r.taught is not None]
    store.write(lambda unit: _models(unit, past))
    rng = np.random.default_rng(1)
    for start in range(0, size, BATCH):
        made = [
            (i, past[i % len(past)], _varied(past[i % len(past)], rng)) for i in range(start, min(start + BATCH, size))
        ]
        store.write(partial(_add_all, made=made))
    yield store
    store.close()


def _register(unit: UnitOfWork, name: str) -> None:
    unit.databases.add(_database(f"db_{name}", name))


def _database(id_: str, engine: str) -> records.Database:
    return records.Database(id=id_, name=id_, engine=engine, policy={"past": "all"}, created_at=NOW)


def _models(unit: UnitOfWork, past: Sequence[Remembered]) -> None:
    for i, r in enumerate(past):
        assert r.taught is not None
        model = r.taught[0].to_dict()
        unit.snapshots.add(records.Snapshot(f"snap_{i:06d}", None, None, r.variation.name, 40, model, NOW))


def _add_all(unit: UnitOfWork, made: Sequence[tuple[int, Remembered, Workload]]) -> None:
    for each in made:
        _add(unit, *each)


def _add(unit: UnitOfWork, number: int, r: Remembered, workload: Workload) -> None:
    """A database with its session, enough confirmed readings, and its workload."""
    database, session, engine = f"db_{number:06d}", f"ts_{number:06d}", r.variation.engine
    unit.databases.add(_database(database, engine))
    unit.sessions.add(_session(session, database))
    for trial in range(3):
        unit.recommendations.add(_confirmed(f"rec_{number:06d}{trial}", database, session))
    taught = workload.to_dict()
    place = next(i for i, other in enumerate(_order()) if other == r.variation.name)
    unit.workloads.add(
        records.Workload(
            id=f"wl_{number:06d}",
            key=fingerprint(taught),
            name=database,
            engine=engine,
            metric="objective",
            database_id=database,
            session_id=session,
            observations=40,
            history=None,
            created_at=NOW,
            changed_at=NOW + timedelta(milliseconds=number),
            taught=taught,
            snapshot_id=f"snap_{place:06d}",
            fitted_with="benchmark",
        )
    )


_ORDER: list[str] = []


def _order() -> list[str]:
    if not _ORDER:
        _ORDER.extend(r.variation.name for r in remembered(fleet(EACH, DEALT_OUT)) if r.taught is not None)
    return _ORDER


def _session(id_: str, database: str) -> records.Session:
    from lutra_models.lifecycle import SessionState
    from lutra_models.metrics import Objective

    objective = Objective("objective", "maximize")
    return records.Session(
        *(id_, database, SessionState.COMPLETED, objective, (), "lab", "automatic", 30, 1, None, NOW), ended_at=NOW
    )


def _confirmed(id_: str, database: str, session: str) -> records.Recommendation:
    return records.Recommendation(
        id=id_,
        database_id=database,
        session_id=session,
        kind=RecommendationKind.SEARCH,
        state=RecommendationState.CONFIRMED,
        key=id_,
        seed=1,
        package_version="0",
        before={},
        created_at=NOW,
        measured={"objective": 1.0},
    )


def _varied(r: Remembered, rng: np.random.Generator) -> Workload:
    assert r.taught is not None
    workload = r.taught[1]
    level, strength = 0.3 * rng.standard_normal(), float(rng.uniform(0.8, 1.2))
    rates = {name: float(np.exp(0.05 * rng.standard_normal())) for name in workload.signature}
    lessons = {
        metric: replace(
            lesson,
            low=lesson.low + level,
            high=lesson.high + level,
            effects=tuple(replace(e, gains=tuple(strength * g for g in e.gains)) for e in lesson.effects),
        )
        for metric, lesson in workload.lessons.items()
    }
    signature = {n: tuple(rates[n] * d for d in deciles) for n, deciles in workload.signature.items()}
    return replace(workload, signature=signature, lessons=lessons)


def _most(pid: int | None) -> float:
    """The most that a process ever had in memory, in MiB."""
    status = (Path("/proc") / str(pid) / "status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]))))
