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
from benchmarks.lab.race import gotpc, gotpch
from benchmarks.lab.studies import QPS

PROGRAMS = Path("/usr/lib/postgresql/15/bin")
"""PostgreSQL 15, where Debian keeps it."""
READ_ALL = (
    "SELECT sum(pg_prewarm(oid, 'read')) FROM pg_class "
    "WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace"
)


@dataclass(frozen=True)
class Contest:
    """`words` are go-tpc's for the load. `writes`: each measurement begins with a fresh copy of the data.

    `like` names another contest: Lutra begins with what its own trials there taught.
    """

    engine: str
    load: str
    words: tuple[str, ...]
    objective: Objective
    clients: int
    writes: bool = True
    like: str | None = None

    @property
    def name(self) -> str:
        return f"{self.load}-{self.engine}" + ("-again" if self.like else "")

    @property
    def data(self) -> str:
        return "-".join((self.engine, *(w.removeprefix("--") for w in self.words)))

    def at(self) -> dict[str, int]:
        """The numbers of clients at which finalists are measured: those of the trials, half and twice as many."""
        return {"as tuned": self.clients, "half": max(1, self.clients // 2), "twice": self.clients * 2}


TPS = Objective("tps", "maximize")
TPCC = ("tpcc", "--warehouses", "20")
SMALLER = ("tpcc", "--warehouses", "12")
CONTESTS: tuple[Contest, ...] = (
    Contest("postgresql", "tpcc", TPCC, TPS, 16),
    Contest("mariadb", "tpcc", TPCC, TPS, 16),
    Contest("postgresql", "tpch", ("tpch", "--sf", "1"), QPS, 2, writes=False),
    Contest("postgresql", "tpcc", SMALLER, TPS, 16, like="tpcc-postgresql"),
    Contest("mariadb", "tpcc", SMALLER, TPS, 16, like="tpcc-mariadb"),
)
DRIVER = {"postgresql": "postgres", "mariadb": "mysql"}
LONGEST_PASS_S = 1800
FILLING: Mapping[str, Sequence[str]] = {"tpcc": ("--no-check",)}
"""Words of go-tpc's for making a load's data: its own check of TPC-C's takes longer than loading them."""


def named(name: str) -> Contest:
    """Raises KeyError."""
    return {c.name: c for c in CONTESTS}[name]


def lab(contest: Contest, program: Path) -> Lab:
    """The engine's lab with this contest's data and load; `program` is go-tpc."""

    def fill(server: ScratchServer, _size: Size) -> None:
        kind = DRIVER[contest.engine]
        argv = ["--driver", kind, "-H", server.host, "-P", str(server.port), "-U", server.user, "-D", server.dbname]
        more = [*gotpc.CONNECTION[kind], "-T", "4", *FILLING.get(contest.load, ())]
        _loaded([str(program), *contest.words, "prepare", *argv, *more])
        for statement in (*LOAD_SETTLES.get(contest.load, ()), *ENGINE_SETTLES[contest.engine]):
            server.sql(statement)

    def transactions(load: Load, _size: Size) -> dict[str, Any]:
        script = [sys.executable, gotpc.__file__, str(program), DRIVER[contest.engine], str(load.threads)]
        span = {"warmup_s": load.warmup_s, "duration_s": load.duration_s}
        return {"kind": "command", "command": [*script, *contest.words, "run"], **span}

    def queries(load: Load, _size: Size) -> dict[str, Any]:
        script = [sys.executable, gotpch.__file__, str(program), str(load.threads)]
        span = {"warmup_s": 0, "duration_s": LONGEST_PASS_S}
        return {"kind": "command", "command": [*script, *contest.words, "run"], **span}

    if contest.writes:
        return replace(ENGINES[contest.engine], fill=fill, driver=transactions)
    return replace(ENGINES[contest.engine], fill=fill, driver=queries, ages=None)


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


LOAD_SETTLES: Mapping[str, Sequence[str]] = {
    "tpch": (
        "CREATE INDEX ON lineitem (l_partkey, l_suppkey)",
        "CREATE INDEX ON lineitem (l_shipdate)",
        "CREATE INDEX ON orders (o_custkey)",
        "CREATE INDEX ON orders (o_orderdate)",
        "CREATE INDEX ON partsupp (ps_suppkey)",
        # go-tpc makes a view with it, which PostgreSQL has from version 16 on.
        "CREATE FUNCTION date_add(date, interval) RETURNS timestamp IMMUTABLE LANGUAGE sql AS 'SELECT $1 + $2'",
    ),
}
"""What the data of a load get: without an index two of the queries take hours, whatever the settings."""
ENGINE_SETTLES: Mapping[str, Sequence[str]] = {
    "postgresql": ("CREATE EXTENSION pg_prewarm", "VACUUM ANALYZE", "CHECKPOINT"),
    "mariadb": (),
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
