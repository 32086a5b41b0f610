"""The sampled sources of p99 against pgbench's clients: at rates that leave processors idle, and over configurations.

Each load is measured once and kept in sampled.json beside this file; those that are there are left out, so that a run
that was ended goes on. PostgreSQL 15 must be installed. Prints Markdown.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import click
from lutra_agent.engines.common.telemetry import Sample, Targets, Telemetry
from lutra_agent.engines.families import family
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase
from lutra_agent.metrics.host import HostProbe
from lutra_lab.drivers.pgbench import Latencies
from lutra_lab.servers.base import environment
from lutra_lab.servers.postgresql import ScratchPostgres

from benchmarks.latency_estimate.rated import CHOSEN_ON, LOADS, MOVED, Rated, configurations

HERE = Path(__file__).parent
KEPT = HERE / "sampled.json"
WARM_UP_S = 3
LOGGED_PER_S = 100
"""Statements or transactions that the log samples, or all where there are fewer."""
SOURCES = ("activity", "log", "estimated")
SERVER = {
    "shared_preload_libraries": "pg_stat_statements",
    "logging_collector": "on",
    "log_destination": "jsonlog",
    "max_connections": "60",
}


@click.command()
@click.option("--bin-dir", type=click.Path(path_type=Path), default=Path("/usr/lib/postgresql/15/bin"))
@click.option("--seconds", default=30, help="Of each window.")
@click.option("--count", default=20, help="Configurations of one load.")
@click.option("--most", default=1000, help="Measurements in this run; the next one goes on.")
def main(bin_dir: Path, seconds: int, count: int, most: int) -> None:
    kept: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    loads = [*LOADS, *configurations(count)]
    waiting = [load for load in loads if load.name not in kept][:most]
    with (
        tempfile.TemporaryDirectory(prefix="lutra-bench-") as folder,
        ScratchPostgres(Path(folder) / "pg", programs=bin_dir, options=SERVER) as server,
    ):
        server.sql("CREATE EXTENSION pg_stat_statements")
        server.fill(5)
        for load in waiting:
            kept[load.name] = measure(server, load, seconds)
            print(f"{load.name}: {kept[load.name]}", flush=True)
            KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    print(
        report(
            [kept[x.name] for x in LOADS if x.name in kept],
            [kept[x.name] for x in loads[len(LOADS) :] if x.name in kept],
        )
    )


def measure(server: ScratchPostgres, load: Rated, seconds: int) -> dict[str, Any]:
    configure(server, load)
    section = PostgresqlDatabase(
        "postgresql", server.host, server.port, server.user, dbname=server.dbname, read_log=True
    )
    engine = family("postgresql").open(section)
    with tempfile.TemporaryDirectory(prefix="lutra-bench-") as name:
        folder = Path(name)
        pgbench = subprocess.Popen(
            command(server, load, folder, seconds),
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            time.sleep(WARM_UP_S)
            before, began_s, spent_s = sampled(engine.telemetry), time.time(), time.process_time()
            time.sleep(seconds)
            after, ended_s = sampled(engine.telemetry), time.time()
            told = targets(engine.telemetry, before, after)
            core_share = (time.process_time() - spent_s) / (ended_s - began_s)
        finally:
            pgbench.wait()
            engine.health.close()
        clients = latencies(folder, began_s, ended_s)
    busy = 1 - idle_share(before, after)
    return {
        "load": load.name,
        "busy": busy,
        "core_share": core_share,
        "tps": told["activity"].metrics["tps"],
        **clients,
    } | {
        f"{source}_{what}": value
        for source, found in told.items()
        for what, value in (
            ("p99_ms", found.latency and found.latency.p99_ms),
            ("error_share", found.metrics.get("p99_error_share")),
        )
        if value is not None and (found.latency and found.latency.source == source)
    }


def sampled(telemetry: Telemetry) -> Sample:
    sample = telemetry.sample(datetime.now(UTC), time.monotonic())
    return replace(sample, readings={**sample.readings, "host": HostProbe().reading()})


def targets(telemetry: Telemetry, before: Sample, after: Sample) -> Mapping[str, Targets]:
    """Of the same window by each source: what a better one says is taken away."""
    without_log = replace(after, statements=replace(after.statements, logged=None))
    bare = replace(after, statements=replace(after.statements, logged=None, looks=None))
    return {s: telemetry.targets(before, a) for s, a in zip(SOURCES, (without_log, after, bare), strict=True)}


def idle_share(before: Sample, after: Sample) -> float:
    """Of the processors; what a neighbour takes counts as busy."""
    seconds = (after.monotonic_s - before.monotonic_s) * (os.cpu_count() or 1)
    names = ("cpu_user_s", "cpu_system_s")
    return 1 - sum(after.readings["host"].counters[n] - before.readings["host"].counters[n] for n in names) / seconds


def configure(server: ScratchPostgres, load: Rated) -> None:
    share = min(LOGGED_PER_S / load.rate, 1.0)
    logged = {
        "log_transaction_sample_rate": share if load.whole else 0,
        "log_statement_sample_rate": 0 if load.whole else share,
        "log_min_duration_sample": -1 if load.whole else 0,
    }
    with server.session() as run:
        for name in {*MOVED, "work_mem"}:
            run(f"ALTER SYSTEM RESET {name}")
        for name, value in {**logged, **load.settings}.items():
            run(f"ALTER SYSTEM SET {name} = '{value}'")
        run("SELECT pg_reload_conf()")
        run("CHECKPOINT")


def command(server: ScratchPostgres, load: Rated, folder: Path, seconds: int) -> list[str]:
    argv = [str(server.bin_dir / "pgbench"), "-n", "-h", server.host, "-p", str(server.port), "-U", server.user]
    argv += ["-c", str(load.clients), "-j", "2", "-R", str(load.rate), "-M", load.protocol, "-s", "5"]
    argv += ["-T", str(WARM_UP_S + seconds + 2), "--log", f"--log-prefix={folder}/log"]
    for i, (script, weight) in enumerate(load.scripts.items()):
        if "\n" not in script:
            argv += ["-b", f"{script}@{weight}"]
            continue
        file = folder / f"{i}.sql"
        file.write_text(script)
        argv += ["-f", f"{file}@{weight}"]
    return [*argv, server.dbname]


def latencies(folder: Path, began_s: float, ended_s: float) -> dict[str, float]:
    """p99 in ms of what the clients saw: from when each transaction was due, and from when it was sent."""
    due, sent = Latencies(), Latencies()
    for file in folder.glob("log.*"):
        for line in file.read_text().splitlines():
            fields = line.split()
            if len(fields) >= 7 and fields[2].isdigit() and began_s <= int(fields[4]) + int(fields[5]) / 1e6 < ended_s:
                due.add(int(fields[2]))
                sent.add(max(int(fields[2]) - int(fields[6]), 0))
    return {"clients": len(sent), "due_p99_ms": due.percentile_ms(99), "sent_p99_ms": sent.percentile_ms(99)}


def report(loads: Sequence[Mapping[str, Any]], varied: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        "| load | tps | busy | clients' p99, ms | from when due | activity | log | estimated |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for r in (*loads, *varied):
        told = " | ".join(f"{r[f'{s}_p99_ms']:.2f}" if f"{s}_p99_ms" in r else "none" for s in SOURCES)
        lines.append(
            f"| {r['load']} | {r['tps']:.0f} | {r['busy']:.2f} "
            f"| {r['sent_p99_ms']:.2f} | {r['due_p99_ms']:.2f} | {told} |"
        )
    for source in SOURCES:
        for what, rows in (("chosen on", loads[:CHOSEN_ON]), ("confirmed on", loads[CHOSEN_ON:])):
            off = sorted(factors(rows, source))
            near = sum(f <= 1.5 for f in off)
            lines.append(
                f"{source}, {what}: {near} of {len(rows)} within a factor of 1.5; {[round(f, 2) for f in off]}"
            )
        if len(varied) > 2:
            lines.append(f"{source}, {len(varied)} configurations: rank correlation {ranks_agree(varied, source):.2f}")
    if loads:
        lines.append(f"agent, of a core: {fmean(r['core_share'] for r in (*loads, *varied)):.2%}")
    return "\n".join(lines)


def factors(rows: Sequence[Mapping[str, Any]], source: str) -> list[float]:
    """By how much each is off, in either direction; infinite where the source told nothing."""
    found = []
    for r in rows:
        told = r.get(f"{source}_p99_ms")
        found.append(math.inf if told is None else max(told / r["sent_p99_ms"], r["sent_p99_ms"] / told))
    return found


def ranks_agree(rows: Sequence[Mapping[str, Any]], source: str) -> float:
    """Spearman's; a configuration of which the source told nothing ranks lowest."""
    pairs = [(r["sent_p99_ms"], r.get(f"{source}_p99_ms", 0.0)) for r in rows]
    first, second = (ranked([p[i] for p in pairs]) for i in (0, 1))
    n = len(pairs)
    return 1 - 6 * sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) / (n * (n * n - 1))


def ranked(values: Sequence[float]) -> list[int]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0] * len(values)
    for rank, i in enumerate(order):
        ranks[i] = rank
    return ranks


if __name__ == "__main__":
    main(prog_name="python -m benchmarks latency_estimate.sampled")
