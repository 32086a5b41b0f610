"""What is raced on: a server, a load by go-tpc, how many clients, and what counts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_models.metrics import Objective

from benchmarks.lab.labs import LABS, Lab, Load, Size
from benchmarks.lab.race import gotpc

PROGRAMS = Path("/usr/lib/postgresql/15/bin")
"""PostgreSQL 15, where Debian keeps it."""
READ_ALL = (
    "SELECT sum(pg_prewarm(oid, 'read')) FROM pg_class "
    "WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace"
)
TPS = Objective("tps", "maximize")


@dataclass(frozen=True)
class Contest:
    """`words` are go-tpc's for the load, `fill` those with which the data are made beside `prepare`."""

    engine: str
    load: str
    words: tuple[str, ...]
    objective: Objective = TPS
    clients: int = 16
    fill: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.load}-{self.engine}"

    @property
    def data(self) -> str:
        return "-".join((self.engine, *(w.removeprefix("--") for w in self.words)))

    def at(self) -> dict[str, int]:
        """The numbers of clients at which finalists are measured: those of the trials, half and twice as many."""
        return {"as tuned": self.clients, "half": max(1, self.clients // 2), "twice": self.clients * 2}


CONTESTS: tuple[Contest, ...] = (
    Contest("postgresql", "tpcc", ("tpcc", "--warehouses", "20"), fill=("--no-check",)),
    Contest("mariadb", "tpcc", ("tpcc", "--warehouses", "20"), fill=("--no-check",)),
)
DRIVER = {"postgresql": "postgres", "mariadb": "mysql"}


def named(name: str) -> Contest:
    """Raises KeyError."""
    return {c.name: c for c in CONTESTS}[name]


def lab(contest: Contest, program: Path) -> Lab:
    """The engine's lab with this contest's data and load; `program` is go-tpc."""

    def fill(server: ScratchServer, _size: Size) -> None:
        argv = ["--driver", DRIVER[contest.engine], "-H", server.host, "-P", str(server.port), "-U", server.user]
        argv += ["-D", server.dbname, *gotpc.CONNECTION[DRIVER[contest.engine]], "-T", "4"]
        _loaded([str(program), *contest.words, "prepare", *argv, *contest.fill])
        for statement in SETTLED[contest.engine]:
            server.sql(statement)

    def driver(load: Load, _size: Size) -> dict[str, Any]:
        script = [sys.executable, gotpc.__file__, str(program), DRIVER[contest.engine], str(load.threads)]
        span = {"warmup_s": load.warmup_s, "duration_s": load.duration_s}
        return {"kind": "command", "command": [*script, *contest.words, "run"], **span}

    return replace(ENGINES[contest.engine], fill=fill, driver=driver)


def _loaded(argv: Sequence[str]) -> None:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{Path(argv[0]).name} could not fill the server: {(done.stdout + done.stderr)[-500:]}")


def _postgresql(folder: Path, options: Mapping[str, str]) -> ScratchPostgres:
    return ScratchPostgres(folder, options=options, programs=PROGRAMS)


def _read_all_of_postgresql(server: ScratchServer, _size: Size) -> None:
    server.sql(READ_ALL)


def _read_all_of_innodb(server: ScratchServer, _size: Size) -> None:
    """Every index once, the primary ones first."""
    listed = server.sql(
        "SELECT table_name, index_name FROM information_schema.statistics "
        f"WHERE table_schema = '{server.dbname}' AND seq_in_index = 1 ORDER BY index_name <> 'PRIMARY', table_name"
    )
    for table, index in (row.split("|") for row in listed.splitlines()):
        server.sql(f"SELECT COUNT(*) FROM `{table}` FORCE INDEX (`{index}`)")


SETTLED: Mapping[str, Sequence[str]] = {
    "postgresql": ("CREATE EXTENSION pg_prewarm", "VACUUM ANALYZE", "CHECKPOINT"),
    "mariadb": ("FLUSH TABLES",),
}
"""What a server is told once its data are there."""
ENGINES: Mapping[str, Lab] = {
    "postgresql": replace(
        LABS["postgresql"],
        make=_postgresql,
        ages="",
        touch=_read_all_of_postgresql,
        loading={"fsync": "off", "shared_buffers": "1GB", "max_wal_size": "1GB"},
        files=("postgresql.conf", "postgresql.auto.conf"),
    ),
    "mariadb": replace(LABS["mariadb"], ages="", touch=_read_all_of_innodb),
}
