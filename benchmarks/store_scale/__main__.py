"""What the service asks of its database all the time, over ever more reports. Medians, in milliseconds."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
from lutra_models import serial
from lutra_models.wire import Report
from lutra_service.app.databases import server_state
from lutra_service.app.reports import intake
from lutra_service.app.tuning.consequences.follow import follow
from lutra_service.app.tuning.deliver import directives
from lutra_service.db import migrate
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.schema.records import Job, JobName
from lutra_service.db.store import Store, UnitOfWork

from benchmarks.store_scale.filling import databases, fill
from tests.support.service.hosted import POSTGRESQL

STEPS = (10_000, 1_000_000, 10_000_000)
TIMES = 50
FORTNIGHT = timedelta(days=14)


@click.command()
@click.option("--reports", default=STEPS[-1], help="The most; the smaller steps come first.")
@click.option("--url", help="An empty database. [default: a SQLite file beside the results]")
@click.option("--results", type=click.Path(path_type=Path), default=Path("store_scale.jsonl"), show_default=True)
def main(reports: int, url: str | None, results: Path) -> None:
    """Interrupt it at will: the rows that are there stay, and each finished step is a line of the results."""
    engine = make_engine(url or f"sqlite:///{results.with_suffix('.db')}")
    migrate.upgrade(engine)
    store = Store(engine, daily_bytes=1 << 60, follow=follow)
    names = databases(store)
    done = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    for step in sorted({min(s, reports) for s in STEPS}):
        if not any(line["reports"] == step for line in done):
            fill(engine, step, datetime.now(UTC))
            done.append({"reports": step, **{name: median(ask) for name, ask in questions(store, names).items()}})
            with results.open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")
    show(done)
    engine.dispose()


def questions(store: Store, names: list[str]) -> dict[str, Callable[[], object]]:
    busy, numbers = names[0], iter(range(10**9))
    epoch = f"e{time.time_ns()}"
    return {
        "take a report in": lambda: store.write(lambda u: intake.accept(u, busy, report(epoch, next(numbers)))),
        "the newest page of windows": lambda: store.read(lambda u: server_state.windows(u, busy, 50, None)),
        "a page far back": lambda: store.read(lambda u: server_state.windows(u, busy, 50, "5000")),
        "the current directive": lambda: store.read(lambda u: directives.current(u, u.databases.get(busy), None)),
        "what is to be computed": lambda: store.read(to_compute),
        "old groups of one database": lambda: store.read(lambda u: u.retention.mergeable(busy, u.now - FORTNIGHT)),
    }


def to_compute(unit: UnitOfWork) -> list[Job]:
    kinds: list[JobName] = ["recommendation"]
    return unit.jobs.waiting(kinds, unit.now)


def report(epoch: str, number: int) -> Report:
    now = datetime.now(UTC)
    return Report.model_validate(
        {
            "agent": epoch,
            "epoch": epoch,
            "sequence": number,
            "sent_at": now,
            "engine": "postgresql",
            "engine_version": "16.4",
            "host": {"memory_bytes": 8 << 30, "cores": 4},
            "settings_hash": "h1",
            "settings": serial.settings_to_dict(POSTGRESQL) if number == 0 else None,
            "window": {"start": now - timedelta(seconds=10), "end": now},
            "metrics": {f"view.counter_{i}_per_s": i * 1.5 for i in range(70)},
            "status": {"mode": "lab"},
        }
    )


def median(ask: Callable[[], object]) -> float:
    taken = []
    for _ in range(TIMES):
        began = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


def show(done: list[dict[str, float]]) -> None:
    rows = sorted(done, key=lambda line: line["reports"])
    print("| milliseconds, median | " + " | ".join(f"{int(row['reports']):,}" for row in rows) + " |")
    print("|---|" + "--:|" * len(rows))
    for name in (n for n in rows[0] if n != "reports"):
        print(f"| {name} | " + " | ".join(f"{row[name]:.2f}" for row in rows) + " |")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks store_scale")
