"""`nearest`: what it costs to ask a memory of fifty, a thousand and ten thousand workloads, and a recommendation then.

The store is filled with copies of the fleet's fitted workloads, each copy varied: levels moved, effects a little
stronger or weaker, counters at other rates. Each belongs to a database of its own. The models behind them are the
fleet's own, as many as there are: what a recommendation is given has its usual size.

Each size has a process of its own, so that its memory is its own. It says what asking costs, then waits; once all wait,
the same recommendations are computed in turns, so that a machine that slows down slows every size.
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
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from lutra_models import History, serial
from lutra_models.digest import fingerprint
from lutra_models.gp.options import DEFAULT
from lutra_models.gp.transfer.workload import Workload
from lutra_models.lifecycle import RecommendationKind, RecommendationState
from lutra_service.app.tuning.consequences.follow import follow
from lutra_service.app.workloads import choose
from lutra_service.db import migrate
from lutra_service.db.schema import records
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.schema.recommendation import Measurement, Recommendation, Request
from lutra_service.db.store import Store, UnitOfWork
from lutra_service.workers.processes import WorkerProcess, local_worker
from lutra_service.workers.protocol import Limits

from benchmarks.memory.fleet import TABLES, engine_of, fleet
from benchmarks.memory.gain import DEALT_OUT, EACH, RESULTS
from benchmarks.memory.past import Remembered, remembered
from benchmarks.tuning import tables
from benchmarks.tuning.rows import CODE, Results
from benchmarks.tuning.warm_tasks import past_workload

ASKED = 400
"""Questions, after those that fill the index."""
RECOMMENDATIONS = 55
"""Of each size, after `WARM` that do not count."""
WARM = 2
TRIALS = (1, 2, 5, 10, 20)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
BATCH = 500
ROOT = Path(__file__).resolve().parents[2]


@click.command("nearest")
@click.option("--sizes", default="50,1000,10000", show_default=True)
@click.option("--results", type=click.Path(file_okay=False, path_type=Path), default=RESULTS)
def nearest_command(sizes: str, results: Path) -> None:
    """Ask memories of several sizes: seconds, memory, and what a recommendation takes that leans on them."""
    rows = Results(results / "nearest.jsonl", ("workloads", "code", "at"))
    at = datetime.now(UTC).isoformat(timespec="seconds")
    wanted = list(map(int, sizes.split(",")))
    with ExitStack() as open_:
        processes, costs = {}, {}
        for size in wanted:
            processes[size] = open_.enter_context(_started(size))
            costs[size] = _told(processes[size])
        seconds: dict[int, list[float]] = {size: [] for size in wanted}
        for i in range(-WARM, RECOMMENDATIONS):
            click.echo(f"recommendation {i} of {RECOMMENDATIONS}", err=True)
            for size in wanted[:: 1 if i % 2 else -1]:
                seconds[size].append(_told(processes[size], i % len(questions()))["seconds"])
        for size in wanted:
            own = seconds[size][WARM:]
            ratio = float(np.mean(own)) / float(np.mean(seconds[wanted[0]][WARM:]))
            told = {"recommendation_s": round(float(np.mean(own)), 3), f"times_{wanted[0]}": round(ratio, 3)}
            ended = _told(processes[size], None)
            rows.add({"workloads": size, "code": CODE, "at": at, **costs[size], **told, **ended})
            click.echo(f"{size} workloads: {costs[size] | told | ended}")


@contextmanager
def _started(size: int) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.memory.nearest", str(size)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},  # its worker starts elsewhere and imports from here
    )
    try:
        yield process
    finally:
        process.communicate()


def _told(process: subprocess.Popen[str], *asked: int | None) -> dict[str, float]:
    """The process's next line, after what it is asked."""
    assert process.stdin is not None
    assert process.stdout is not None
    for question in asked:
        print(json.dumps(question), file=process.stdin, flush=True)
    line = process.stdout.readline()
    if not line:
        raise click.ClickException(f"the process of a size ended with {process.wait()}: its complaint is above")
    return dict(json.loads(line))


def main(size: int) -> None:
    """What asking costs; then, for each number read, that question's recommendation; at last (null) the memory."""
    with tempfile.TemporaryDirectory() as folder, filled(Path(folder), size) as store:
        print(json.dumps(_costs(store)), flush=True)
        worker = local_worker(Limits(600.0, 4 << 30), "benchmarks.memory.plain_worker")
        for line in sys.stdin:
            asked = json.loads(line)
            told = {"worker_mib": _most(worker.pid)} if asked is None else _recommended(store, worker, asked)
            print(json.dumps(told), flush=True)
        worker.close()


def _costs(store: Store) -> dict[str, float]:
    asked = questions()
    before = _resident()
    began = time.perf_counter()
    store.read(lambda unit: _ask(unit, *asked[0]))
    first = time.perf_counter() - began
    index_bytes = _resident() - before
    seconds, processor = [], []
    for i in range(ASKED):
        question = asked[i % len(asked)]
        began, used = time.perf_counter(), time.process_time()
        store.read(partial(_ask, engine=question[0], history=question[1]))
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    return {
        "p50_ms": round(1e3 * float(np.median(seconds)), 2),
        "p99_ms": round(1e3 * float(np.quantile(seconds, 0.99)), 2),
        "processor_p50_ms": round(1e3 * float(np.median(processor)), 2),
        "processor_p99_ms": round(1e3 * float(np.quantile(processor, 0.99)), 2),
        "first_s": round(first, 2),
        "index_mib": round(index_bytes / 2**20, 1),
        "resident_mib": round(_resident() / 2**20, 1),
    }


def _ask(unit: UnitOfWork, engine: str, history: History) -> list[str]:
    database = replace(unit.databases.get(f"db_{engine}"), policy={"past": "all"})
    found = choose.likeliest(unit, database, "ts_new", history, DEFAULT)
    return [r.snapshot_id for r in found if r.snapshot_id is not None]


def _payloads(unit: UnitOfWork, ids: Sequence[str]) -> list[dict[str, Any]]:
    return [unit.snapshots.get(id_).payload for id_ in ids]


@cache
def questions() -> list[tuple[str, History]]:
    """Of each table's other half, what sessions of some lengths know."""
    out = []
    for name in sorted(TABLES):
        whole = past_workload(tables.parted(TABLES[name](), 1), rows=max(TRIALS), seed=9)
        out += [(engine_of(name), replace(whole, observations=whole.observations[:n])) for n in TRIALS]
    return out


def _recommended(store: Store, worker: WorkerProcess, number: int) -> dict[str, float]:
    """Processor seconds of asking and computing."""
    engine, history = questions()[number]
    began = time.process_time()
    ids = store.read(partial(_ask, engine=engine, history=history))
    past = store.read(partial(_payloads, ids=ids))
    request = {"history": serial.history_to_dict(history), "entropy": [1], "past": past, "options": {}}
    answer = worker.run("recommend", request)
    return {"seconds": time.process_time() - began + answer["processor_s"]}


@contextmanager
def filled(folder: Path, size: int) -> Iterator[Store]:
    engine = make_engine(f"sqlite:///{folder}/lutra.db")
    migrate.upgrade(engine)
    store = Store(engine, clock=lambda: NOW, follow=follow)
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
            history={},
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
        id_, database, SessionState.COMPLETED, objective, (), "lab", "automatic", 30, 1, None, NOW, 0, 0, ended_at=NOW
    )


def _confirmed(id_: str, database: str, session: str) -> Recommendation:
    return Recommendation(
        id=id_,
        database_id=database,
        session_id=session,
        kind=RecommendationKind.SEARCH,
        state=RecommendationState.CONFIRMED,
        request=Request(id_, 1, "0", {}, NOW),
        measurement=Measurement({"objective": 1.0}),
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
    return round(next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM")), 1)


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main(int(sys.argv[1]))
