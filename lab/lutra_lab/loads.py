"""Data for a scratch server, and a load over them that is worth tuning for.

A `Loader` fills a server and tells about it: `load` for people, and `driver`, which is an agent's `[driver]` section
without the measured time. With the example's sizes the data are several times the server's default cache.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lutra_lab.errors import LabError
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_lab.servers.postgresql import ScratchPostgres, environment

Loader = Callable[[Any], Mapping[str, object]]
UPDATES = Path(__file__).with_name("updates.sql")
EXAMPLE_SCALE, MB_PER_SCALE = 60, 15
EXAMPLE_TABLES, ROWS, MB_PER_TABLE = 20, 100_000, 30
WARM = {"innodb_buffer_pool_dump_pct": "100"}
"""With it a restart brings back what was cached: a trial measures its settings and not an empty cache."""


def fill(server: ScratchPostgres, scale: int) -> None:
    """pgbench's tables, progress on stderr. Raises LabError."""
    where = ["-h", server.host, "-p", str(server.port), "-U", server.user, server.dbname]
    _run([str(server.bin_dir / "pgbench"), "-i", "-s", str(scale), *where], environment())


def fill_sysbench(server: ScratchMysqld, tables: int, rows: int = ROWS) -> None:
    """sysbench's tables, progress on stderr. Raises LabError."""
    where = [f"--mysql-host={server.host}", f"--mysql-port={server.port}", f"--mysql-user={server.user}"]
    size = [f"--mysql-db={server.dbname}", f"--tables={tables}", f"--table-size={rows}", f"--threads={min(tables, 4)}"]
    _run(["sysbench", "--db-driver=mysql", *where, *size, "oltp_read_write", "prepare"])


def empty(_server: object) -> Mapping[str, object]:
    return {}


def pgbench(scale: int) -> Loader:
    """Six updates at random places a transaction, by 8 clients."""

    def load(server: ScratchPostgres) -> Mapping[str, object]:
        fill(server, scale)
        driver = {"kind": "pgbench", "bin": str(server.bin_dir / "pgbench"), "script": str(UPDATES), "scale": scale}
        driver |= {"clients": 8, "threads": 2, "warmup_s": 2}
        return {"load": f"{scale * MB_PER_SCALE} MB of data, pgbench updating it with 8 clients", "driver": driver}

    return load


def sysbench(tables: int) -> Loader:
    """Transactions of reads and writes at random places, by 16 clients. Raises LabError where there is no sysbench."""
    if shutil.which("sysbench") is None:
        raise LabError("sysbench is not installed: apt-get install sysbench")

    def load(server: ScratchMysqld) -> Mapping[str, object]:
        fill_sysbench(server, tables)
        server.stop()  # writes what the filling left, or the first trial would pay for it
        server.start()
        driver = {"kind": "sysbench", "script": "oltp_read_write", "tables": tables, "table_size": ROWS}
        driver |= {"threads": 16, "warmup_s": 4}
        said = f"{tables * MB_PER_TABLE} MB of data, sysbench reading and writing it with 16 clients"
        return {"load": said, "driver": driver}

    return load


def _run(argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
    name = Path(argv[0]).name
    try:
        done = subprocess.run(argv, env=env, stdout=sys.stderr)
    except OSError as error:
        raise LabError(f"{name}: {error.strerror}") from error
    if done.returncode != 0:
        raise LabError(f"{name} could not fill the server: exit {done.returncode}")
