"""How far a log-normal alone leads astray: the p99 it gives from the clients' own mean and deviation.

What remains between this error and that of the whole estimate is time that the server does not count.
"""

from __future__ import annotations

import math
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lutra_agent.engines.postgresql.telemetry.latency import StatementDelta, estimate_p99_ms
from lutra_lab.drivers.pgbench import parse_log
from lutra_lab.servers.base import environment
from lutra_lab.servers.postgresql import ScratchPostgres

UPDATE = "\\set a random(1, 100000 * :scale)\nUPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :a;\n"
LOADS = (("select-only", 1), ("select-only", 8), ("update", 1), ("update", 8))


@dataclass(frozen=True)
class Shape:
    """Latencies in ms, of what pgbench's clients saw."""

    load: str
    p99_ms: float
    log_normal_p99_ms: float

    @property
    def factor(self) -> float:
        return self.log_normal_p99_ms / self.p99_ms


def shapes(server: ScratchPostgres, duration_s: int) -> list[Shape]:
    server.fill(1)
    return [_shape(server, script, clients, duration_s) for script, clients in LOADS]


def _shape(server: ScratchPostgres, script: str, clients: int, duration_s: int) -> Shape:
    with tempfile.TemporaryDirectory(prefix="lutra-bench-") as name:
        folder = Path(name)
        (folder / "update.sql").write_text(UPDATE)
        what = ["-b", script] if script == "select-only" else ["-f", str(folder / "update.sql")]
        where = ["-h", server.host, "-p", str(server.port), "-U", server.user, server.dbname]
        log = ["--log", f"--log-prefix={folder}/log", "-n", "-c", str(clients), "-T", str(duration_s)]
        subprocess.run(
            [server.bin_dir / "pgbench", *log, *what, *where], env=environment(), check=True, capture_output=True
        )
        latencies, _ = parse_log(_lines(folder), 0.0, math.inf)
    moments = StatementDelta(len(latencies), latencies.mean_ms(), latencies.stddev_ms())
    p99_ms = estimate_p99_ms([moments])
    assert p99_ms is not None
    return Shape(f"{script} ×{clients}", latencies.percentile_ms(99), p99_ms)


def _lines(folder: Path) -> Iterable[str]:
    for path in folder.glob("log.*"):
        yield from path.read_text().splitlines()
