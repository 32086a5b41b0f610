"""Public tables as files that a user would import."""

from __future__ import annotations

import csv
import gzip
import statistics
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

DATA = Path(__file__).parents[3] / "benchmarks" / "tuning" / "data" / "tuna"
SETTINGS = ("shared_buffers", "work_mem", "max_wal_size", "random_page_cost", "effective_io_concurrency")
FAILED_FROM = 1e6


def tpcc(file: Path, rows: int, settings: Collection[str] = SETTINGS) -> Path:
    """TPC-C on a PostgreSQL 16 at Azure: so many configurations, each with the median throughput of its machines; none
    where most of them failed."""
    measured: dict[str, list[float]] = defaultdict(list)
    for run in _read("azure__postgres__tpcc.measurements"):
        measured[run["config_id"]].append(float(run["performance"]))
    with file.open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow([*settings, "tps"])
        for config in [c for c in _read("azure__postgres__tpcc.configs") if c["config_id"] in measured][:rows]:
            everywhere = measured[config["config_id"]]
            good = [p for p in everywhere if 0 < p < FAILED_FROM]
            held = statistics.median(good) if 2 * len(good) > len(everywhere) else ""
            table.writerow([*(config[n] for n in settings), held])
    return file


def _read(name: str) -> list[dict[str, str]]:
    with gzip.open(DATA / f"{name}.csv.gz", "rt") as lines:
        return list(csv.DictReader(lines))
