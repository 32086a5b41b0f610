"""One load, seen from both sides: sysbench's clients, and pg_stat_statements over the same window."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import psycopg
from lutra_agent.drivers import build
from lutra_agent.engines.postgresql.telemetry.latency import StatementRow, deltas, estimate_p99_ms
from lutra_lab.drivers.sysbench import Sysbench
from lutra_lab.servers.postgresql import ScratchPostgres

from benchmarks.latency_estimate.loads import Load
from tests.support.databases import Where

DATABASE = "sysbench"
ROWS = """SELECT userid, queryid, toplevel, calls, total_exec_time, stddev_exec_time FROM pg_stat_statements(false)
          WHERE dbid = (SELECT oid FROM pg_database WHERE datname = %s)"""


@dataclass(frozen=True)
class Seen:
    """Latencies in ms; `factor` = estimated / measured p99."""

    load: str
    kind: str
    qps: float
    measured_p99_ms: float
    measured_mean_ms: float
    estimated_p99_ms: float
    server_mean_ms: float
    server_stddev_ms: float

    @property
    def factor(self) -> float:
        return self.estimated_p99_ms / self.measured_p99_ms

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "factor": self.factor}


def measure(server: ScratchPostgres, load: Load, rows: int, warmup_s: int, duration_s: int) -> Seen:
    driver = _driver(server, load, rows, warmup_s, duration_s)
    readings: list[dict[object, StatementRow]] = []
    driver.prepare()
    try:
        # From the database `postgres`, so that our own statements are not among those counted.
        with psycopg.connect(server.conninfo(), autocommit=True) as connection:

            def read() -> None:
                found = connection.execute(ROWS, (DATABASE,)).fetchall()
                readings.append({(u, q, t): StatementRow(c, total, dev) for u, q, t, c, total, dev in found})

            connection.execute("CHECKPOINT")
            measured = driver.run(read, read)
    finally:
        driver.cleanup()
    ran = deltas(*readings)
    estimate = estimate_p99_ms(ran)
    assert estimate is not None
    calls = sum(d.calls for d in ran)
    mean = sum(d.calls * d.mean_ms for d in ran) / calls
    square = sum(d.calls * (d.stddev_ms**2 + d.mean_ms**2) for d in ran) / calls
    figures = measured.metrics
    return Seen(
        load.name, measured.p99_of, figures["qps"], figures["p99_ms"], figures["mean_ms"],
        estimate, mean, math.sqrt(max(square - mean**2, 0.0)),
    )  # fmt: skip


def _driver(server: ScratchPostgres, load: Load, rows: int, warmup_s: int, duration_s: int) -> Sysbench:
    config = {"kind": "sysbench", "script": load.script, "threads": load.threads, "rate": load.rate}
    config |= {"distribution": load.distribution, "table_size": rows, "warmup_s": warmup_s, "duration_s": duration_s}
    driver = build(config, Where.of(server, DATABASE))
    assert isinstance(driver, Sysbench)
    return driver
