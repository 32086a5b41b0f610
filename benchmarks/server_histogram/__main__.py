"""p99 from MySQL's and MariaDB's own histograms, against the one that sysbench's clients saw on the same windows.

Single-statement loads, so that both count the same thing. Both servers and sysbench must be installed. Prints Markdown
and writes results.json beside itself. On a machine that is busy with other work, `--ahead` takes the loads below
saturation with server and clients ahead of it (SCHED_RR; needs root), so that a processor is theirs when they want it.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import click
import psutil
from lutra_agent.drivers import build
from lutra_agent.engines.common.telemetry import Sample
from lutra_agent.engines.families import family
from lutra_agent.engines.mysql.server.section import MysqlDatabase
from lutra_lab.drivers.sysbench import Sysbench
from lutra_lab.servers.mariadb import HISTOGRAM, ScratchMariadb
from lutra_lab.servers.mysql import ScratchMysql
from lutra_lab.servers.mysqld import ScratchMysqld

HERE = Path(__file__).parent
SERVERS: tuple[tuple[type[ScratchMysqld], dict[str, str]], ...] = ((ScratchMysql, {}), (ScratchMariadb, HISTOGRAM))
CLOSED = (
    ("oltp_point_select", 1, 0),
    ("select_random_points", 1, 0),
    ("select_random_ranges", 1, 0),
    ("oltp_insert", 1, 0),
    ("oltp_update_index", 1, 0),
    ("oltp_update_index", 2, 0),
    ("oltp_update_non_index", 1, 0),
    ("oltp_update_non_index", 2, 0),
)
OPEN = (
    ("oltp_point_select", 1, 200),
    ("oltp_point_select", 4, 2000),
    ("oltp_update_index", 1, 100),
    ("oltp_update_index", 4, 200),
)
AT = (
    ("oltp_point_select", 1, 0),
    ("oltp_point_select", 4, 0),
    ("oltp_point_select", 16, 0),
    ("oltp_update_index", 4, 0),
    ("oltp_update_index", 16, 0),
)
"""Script, threads, events per second. Below saturation with clients that ask when they have their answer, or at a rate
whether or not they have it; and at saturation. The last do not run ahead of other work, which they would stop."""


@dataclass(frozen=True)
class Row:
    engine: str
    load: str
    client_qps: float
    server_qps: float
    client_p99_ms: float
    server_p99_ms: float
    own: float
    """The processors' part that the server and the clients used, 0 to 1."""
    busy: float
    """The part that was busy, whoever kept them so."""

    @property
    def agrees(self) -> bool:
        """Within the larger of 10 % and 0.3 ms; in MariaDB's histogram, whose ranges double, within one range."""
        if self.engine == ScratchMariadb.engine:
            return abs(_range(self.client_p99_ms) - _range(self.server_p99_ms)) <= 1
        return abs(self.client_p99_ms - self.server_p99_ms) <= max(0.1 * self.client_p99_ms, 0.3)


def _range(latency_ms: float) -> int:
    """Which of the ranges that end at 1 s, 1/2 s, 1/4 s, …"""
    return math.floor(math.log2(latency_ms / 1000))


@click.command()
@click.option("--warmup", default=2, help="Seconds before each window.")
@click.option("--duration", default=10, help="Seconds of each window.")
@click.option("--rows", default=100_000)
@click.option("--ahead", is_flag=True, help="The loads below saturation alone, ahead of other work. Needs root.")
def main(warmup: int, duration: int, rows: int, ahead: bool) -> None:
    if ahead:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # what we start inherits it
    load_average, seen, versions = os.getloadavg()[0], list[Row](), {}
    for kind, options in SERVERS:
        with (
            tempfile.TemporaryDirectory(prefix="lutra-bench-") as folder,
            kind(Path(folder) / "server", options=options) as server,
        ):
            versions[server.engine] = server.version
            for script, threads, rate in CLOSED + OPEN if ahead else CLOSED + OPEN + AT:
                seen.append(measured(server, script, threads, rate, rows, warmup, duration))
                print(seen[-1], file=sys.stderr)
    about = {**versions, "cores": os.cpu_count(), "load_average_before": load_average, "duration_s": duration}
    name = "results-ahead.json" if ahead else "results.json"
    (HERE / name).write_text(json.dumps({**about, "loads": [asdict(r) for r in seen]}, indent=1) + "\n")
    print(table(seen))


def measured(
    server: ScratchMysqld, script: str, threads: int, rate: int, rows: int, warmup_s: int, duration_s: int
) -> Row:
    where = MysqlDatabase(server.engine, server.host, server.port, server.user, dbname=server.dbname)
    section = {"kind": "sysbench", "script": script, "threads": threads, "rate": rate, "table_size": rows}
    driver = build({**section, "warmup_s": warmup_s, "duration_s": duration_s}, where)
    assert isinstance(driver, Sysbench)
    engine, samples, busy = family(server.engine).open(where), list[Sample](), list[tuple[float, float, float]]()

    def note() -> None:
        samples.append(engine.telemetry.sample(datetime.now(UTC), time.monotonic()))
        busy.append((own_s(server), *processor_s()))

    driver.prepare()
    try:
        note()  # connects
        samples.clear()
        busy.clear()
        found = driver.run(note, note).metrics
        targets = engine.telemetry.targets(*samples)
    finally:
        driver.cleanup()
        engine.health.close()
    assert targets.latency is not None
    own, worked, total = (b - a for a, b in zip(*busy, strict=True))
    return Row(
        server.engine,
        f"{script} ×{threads}" + (f" {rate}/s" if rate else ""),
        found["qps"],
        targets.metrics["qps"],
        found["p99_ms"],
        targets.latency.p99_ms,
        own / total,
        worked / total,
    )


def own_s(server: ScratchMysqld) -> float:
    """Seconds on a processor of the server and of our children, as they are while they run."""
    seen = {psutil.Process(server.pid), *psutil.Process().children(recursive=True)}
    return float(sum(times.user + times.system for times in (p.cpu_times() for p in seen)))


def processor_s() -> tuple[float, float]:
    """Busy and all seconds of this machine's processors."""
    hertz = os.sysconf("SC_CLK_TCK")
    ticks = [int(t) / hertz for t in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return float(sum(ticks) - ticks[3] - ticks[4]), float(sum(ticks))


def table(rows: Sequence[Row]) -> str:
    head = [
        "| engine | load | qps, clients | qps, server | p99 clients, ms | p99 server, ms | difference, ms | agree |"
    ]
    head[0] += " own | busy |"
    head.append("|---|---|--:|--:|--:|--:|--:|---|--:|--:|")
    for r in rows:
        apart = r.client_p99_ms - r.server_p99_ms
        figures = f"{r.client_qps:.0f} | {r.server_qps:.0f} | {r.client_p99_ms:.2f} | {r.server_p99_ms:.2f}"
        agree = "yes" if r.agrees else "no"
        head.append(f"| {r.engine} | {r.load} | {figures} | {apart:+.2f} | {agree} | {r.own:.0%} | {r.busy:.0%} |")
    return "\n".join(head)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks server_histogram")
