"""How long all observations take to a data frame and to files, and what memory the service takes for it."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import click
import psutil
from lutra_client import Client
from lutra_service.app.databases.registration import register
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.schema.tables import ReportRow
from lutra_service.db.store import Store
from sqlalchemy import Engine, insert

from tests.support.service.served import Served

DATABASES, SETTINGS, METRICS, PORTION = 20, 45, 75, 5_000
FORMATS = ("jsonl", "csv", "parquet")


@click.command()
@click.option("--observations", default=100_000, show_default=True)
def main(observations: int) -> None:
    """Each observation has 45 settings, which change with every 20th window of a database, and its own 75 metrics."""
    with tempfile.TemporaryDirectory() as folder, Served(Path(folder)) as served:
        engine = make_engine(f"sqlite:///{folder}/lutra.db")
        fill(engine, observations)
        assert served.process is not None
        process = psutil.Process(served.process.pid)
        with Client(str(served.client.base_url), served.token) as client:
            client.observations.list(metric=["qps"], until=datetime(2026, 1, 2, tzinfo=UTC)).to_frame()
            print(f"The service takes {process.memory_info().rss >> 20} MB before.\n")
            print("| what | s | processor, client | processor, service | service's memory, MB |\n|---|--:|--:|--:|--:|")
            for name, work in jobs(client, Path(folder)):
                began, own, theirs = time.perf_counter(), time.process_time(), sum(process.cpu_times()[:2])
                told = work()
                took, own = time.perf_counter() - began, time.process_time() - own
                theirs, most = sum(process.cpu_times()[:2]) - theirs, process.memory_info().rss
                print(f"| {name}{told} | {took:.1f} | {own:.1f} | {theirs:.1f} | {most >> 20} |", flush=True)


def jobs(client: Client, folder: Path) -> Iterator[tuple[str, Any]]:
    def framed(**more: Any) -> str:
        rows, columns = client.observations.list(**more).to_frame().shape
        return f": {rows:,} rows, {columns} columns"

    def saved(kind: Any) -> str:
        file = folder / f"all.{kind}"
        client.observations.list().save(file, kind)
        return f": {file.stat().st_size >> 20} MB"

    yield "a data frame", framed
    yield "a data frame of two metrics", lambda: framed(metric=["qps", "p99_ms"])
    for kind in FORMATS:
        yield f"a {kind} file", partial(saved, kind)


def fill(engine: Engine, observations: int) -> None:
    store, chance = Store(engine), random.Random(1)
    names = [store.write(partial(register, name=f"db{n}", engine="postgresql", policy={})).id for n in range(DATABASES)]
    began = datetime(2026, 1, 1, tzinfo=UTC)
    for first in range(0, observations, PORTION):
        rows = [
            row(n, names[n % DATABASES], began + timedelta(seconds=10 * n), chance)
            for n in range(first, min(first + PORTION, observations))
        ]
        with engine.begin() as connection:
            connection.execute(insert(ReportRow), rows)


def row(number: int, database: str, at: datetime, chance: random.Random) -> dict[str, Any]:
    metrics = {f"view.counter_{i}_per_s": round(chance.random() * 1000, 6) for i in range(METRICS - 2)}
    configuration = number // (DATABASES * 20) * DATABASES + number % DATABASES
    moments = {"sent_at": at, "received_at": at, "window_start": at - timedelta(seconds=10), "window_end": at}
    same = {"agent": "agent1", "epoch": "e", "settings_hash": "h", "p99_source": "driver", "p99_of": "transaction"}
    return {
        **moments,
        **same,
        "database_id": database,
        "sequence": number,
        "configuration": {f"setting_number_{i}": (configuration * 31 + i) % 65_537 for i in range(SETTINGS)},
        "metrics": {"qps": chance.random() * 1000, "p99_ms": chance.random() * 10, **metrics},
        "context": {"clients": 8},
        "outcomes": [],
        "windows": 1,
    }


if __name__ == "__main__":
    main(prog_name="python -m benchmarks observations")
