"""The p99 that the agent estimates from pg_stat_statements, against the one that sysbench's clients saw.

PostgreSQL 15 and sysbench must be installed. Prints Markdown; writes results.json and the plot beside itself.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median, quantiles

import altair as alt
import click
from lutra_lab.servers.postgresql import ScratchPostgres

from benchmarks.latency_estimate.loads import SINGLE, TRANSACTIONS
from benchmarks.latency_estimate.measure import DATABASE, Seen, measure
from benchmarks.latency_estimate.shape import shapes

HERE = Path(__file__).parent
PLOT = HERE / "estimated-and-measured.svg"
OPTIONS = {"shared_preload_libraries": "pg_stat_statements", "max_connections": "100", "shared_buffers": "256MB"}


@click.command()
@click.option("--bin-dir", type=click.Path(path_type=Path), default=Path("/usr/lib/postgresql/15/bin"))
@click.option("--warmup", default=2, help="Seconds before each window.")
@click.option("--duration", default=10, help="Seconds of each window.")
@click.option("--rows", default=100_000)
def main(bin_dir: Path, warmup: int, duration: int, rows: int) -> None:
    busy = os.getloadavg()[0]
    seen: list[Seen] = []
    with (
        tempfile.TemporaryDirectory(prefix="lutra-bench-") as folder,
        ScratchPostgres(Path(folder) / "pg", programs=bin_dir, options=OPTIONS) as server,
    ):
        server.sql("CREATE EXTENSION pg_stat_statements")
        server.sql(f"CREATE DATABASE {DATABASE}")
        for load in (*SINGLE, *TRANSACTIONS):
            seen.append(measure(server, load, rows, warmup, duration))
            print(f"{load.name}: {seen[-1].factor:.2f}", file=sys.stderr)
        alone = shapes(server, duration)
        version = server.version
    about = {"postgresql": version, "cores": os.cpu_count(), "load_average_before": busy, "duration_s": duration}
    loads = [s.to_dict() for s in seen]
    kept = {**about, "loads": loads, "log_normal_alone": [asdict(s) for s in alone]}
    (HERE / "results.json").write_text(json.dumps(kept, indent=1) + "\n")
    print(report(seen))
    print("\n".join(f"{s.load}: p99 {s.p99_ms:.2f} ms, log-normal {s.log_normal_p99_ms:.2f} ms" for s in alone))
    plot(seen)


def report(seen: Sequence[Seen]) -> str:
    parts = [table([s for s in seen if s.kind == kind]) for kind in ("statement", "transaction")]
    factors = sorted(s.factor for s in seen if s.kind == "statement")
    low, _, high = quantiles(factors, n=4)
    near = [sum(1 / f <= factor <= f for factor in factors) for f in (1.25, 1.5, 2.0)]
    summary = (
        f"{len(factors)} single-statement loads: estimate / measured has median {median(factors):.2f}, quartiles "
        f"{low:.2f} and {high:.2f}, extremes {factors[0]:.2f} and {factors[-1]:.2f}; within 25 %: {near[0]}, within a "
        f"factor of 1.5: {near[1]}, of 2: {near[2]}."
    )
    return "\n\n".join([parts[0], summary, parts[1]])


def table(seen: Sequence[Seen]) -> str:
    rows = [
        "| load | qps | p99 measured, ms | estimated, ms | estimate / measured | mean client, ms | mean server, ms |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for s in seen:
        figures = f"{s.measured_p99_ms:.2f} | {s.estimated_p99_ms:.2f} | {s.factor:.2f}"
        rows.append(f"| {s.load} | {s.qps:.0f} | {figures} | {s.measured_mean_ms:.3f} | {s.server_mean_ms:.3f} |")
    return "\n".join(rows)


def plot(seen: Sequence[Seen]) -> None:
    values = alt.InlineData(values=[s.to_dict() for s in seen])
    everything = [p for s in seen for p in (s.measured_p99_ms, s.estimated_p99_ms)]
    ends = [min(everything) / 1.5, max(everything) * 1.5]
    scale = alt.Scale(type="log", domain=ends, nice=False)
    points = alt.Chart(values).mark_point(filled=True, size=60).encode(
        alt.X("measured_p99_ms:Q", title="p99 that clients saw, ms", scale=scale),
        alt.Y("estimated_p99_ms:Q", title="p99 estimated from pg_stat_statements, ms", scale=scale),
        alt.Color("kind:N", title="measured of each"),
        alt.Shape("kind:N", title="measured of each"),
    )  # fmt: skip
    line = alt.InlineData(values=[{"x": e, "y": e} for e in ends])
    diagonal = alt.Chart(line).mark_line(color="grey", strokeDash=[4, 4]).encode(x="x:Q", y="y:Q")
    (diagonal + points).properties(width=420, height=420).save(PLOT)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks latency_estimate")
