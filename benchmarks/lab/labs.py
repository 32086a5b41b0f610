"""What each engine brings to the lab: its scratch server, data and load, and the rule that people start from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.mariadb import ScratchMariadb
from lutra_lab.servers.mysql import ScratchMysql
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_lab.servers.postgresql import ScratchPostgres

from benchmarks.lab.studies import FEW

SORTS = "sorts"
"""A load of which each query sorts 20,000 rows."""
SORTING_SQL, SORTING_LUA = (Path(__file__).parent / f"sorting.{kind}" for kind in ("sql", "lua"))


@dataclass(frozen=True)
class Size:
    """Of sysbench's tables; 8 × 1M rows are some 2 GB, and so is pgbench's scale 130."""

    tables: int = 8
    rows: int = 1_000_000

    @property
    def scale(self) -> int:
        return max(1, self.tables * self.rows // 61_500)


@dataclass(frozen=True)
class Load:
    workload: str
    threads: int
    warmup_s: int
    duration_s: int


@dataclass(frozen=True)
class Lab:
    """`make` takes a folder and options; `fill` loads the data; `ages` is the workload that then uses them for a while,
    None where the load only reads them.

    `options` are the studied server's, `loading` those with which its data are made. `touch` reads all data once.
    `two_knobs` are the manual's advice on cache and log for a host of so much memory. `pins` stay as they are.
    `files` are those of the data folder that a copy of the data leaves alone.
    """

    make: Callable[[Path, Mapping[str, str]], ScratchServer]
    fill: Callable[[Any, Size], None]
    ages: str | None
    driver: Callable[[Load, Size], dict[str, Any]]
    touch: Callable[[Any, Size], None]
    two_knobs: Callable[[int], dict[str, int | str]]
    options: Mapping[str, str]
    loading: Mapping[str, str]
    pins: Mapping[str, str]
    files: tuple[str, ...] = ()


def _sysbench(load: Load, size: Size) -> dict[str, Any]:
    data = {"tables": size.tables, "table_size": size.rows}
    span = {"warmup_s": load.warmup_s, "duration_s": load.duration_s}
    script = str(SORTING_LUA) if load.workload == SORTS else load.workload
    return {"kind": "sysbench", "script": script, "threads": load.threads, **data, **span}


def _pgbench(load: Load, size: Size) -> dict[str, Any]:
    span: dict[str, Any] = {"warmup_s": load.warmup_s, "duration_s": load.duration_s}
    script = load.workload
    if script == SORTS:
        script, span["scale"] = str(SORTING_SQL), size.scale
    return {"kind": "pgbench", "script": script, "clients": load.threads, "threads": 2, **span}


def _touch_sysbench(server: ScratchMysqld, size: Size) -> None:
    for number in range(1, size.tables + 1):
        server.sql(f"SELECT SUM(LENGTH(pad)) FROM sbtest{number} FORCE INDEX (PRIMARY)")
        server.sql(f"SELECT SUM(k) FROM sbtest{number} FORCE INDEX (k_{number})")


def _touch_pgbench(server: ScratchPostgres, _size: Size) -> None:
    server.sql("SELECT count(abalance), count(DISTINCT bid) FROM pgbench_accounts")


def _innodb_log(name: str) -> Callable[[int], dict[str, int | str]]:
    """70 % of memory for the buffer pool, and redo logs "even as big as the buffer pool" (MySQL's manual)."""

    def knobs(memory_bytes: int) -> dict[str, int | str]:
        pool = memory_bytes * 7 // 10 >> 27 << 27
        return {"innodb_buffer_pool_size": pool, name: pool}

    return knobs


def _postgresql_knobs(memory_bytes: int) -> dict[str, int | str]:
    """25 % of memory for shared buffers; the write-ahead log as large as memory, so that time alone checkpoints."""
    return {"shared_buffers": f"{memory_bytes // 4 >> 20}MB", "max_wal_size": f"{memory_bytes >> 20}MB"}


_INNODB_STUDIED = {
    "innodb_fast_shutdown": "0",
    "innodb_buffer_pool_dump_at_shutdown": "OFF",
    "innodb_buffer_pool_load_at_startup": "OFF",
}
"""Each trial begins with clean pages and nothing left to purge, in a pool that `touch` has filled."""
_INNODB_LOADING = {
    "innodb_buffer_pool_size": "2G",
    "innodb_flush_log_at_trx_commit": "0",
    "innodb_doublewrite": "0",
    "innodb_fast_shutdown": "0",
}


def _innodb(make: Callable[..., ScratchMysqld], log: str, **loading: str) -> Lab:
    """`log` is the setting that sizes the redo log; `loading` are options of the server while it is filled."""
    return Lab(
        make=lambda folder, options: make(folder, options=options),
        fill=lambda server, size: server.fill(size.tables, size.rows),
        ages="oltp_write_only",
        driver=_sysbench,
        touch=_touch_sysbench,
        two_knobs=_innodb_log(log),
        options=_INNODB_STUDIED,
        loading={**_INNODB_LOADING, log: "1G", **loading},
        pins={"innodb_flush_method": "O_DIRECT"},
    )


LABS: Mapping[str, Lab] = {
    "mariadb": _innodb(ScratchMariadb, "innodb_log_file_size"),
    "mysql": _innodb(ScratchMysql, "innodb_redo_log_capacity", skip_log_bin="1"),
    "postgresql": Lab(
        make=lambda folder, options: ScratchPostgres(folder, options=options),
        fill=lambda server, size: server.fill(size.scale),
        ages="tpcb-like",
        driver=_pgbench,
        touch=_touch_pgbench,
        two_knobs=_postgresql_knobs,
        options={},
        loading={"fsync": "off", "shared_buffers": "1GB", "max_wal_size": "4GB"},
        pins={},
        files=("postgresql.conf",),
    ),
}

AGING = Load("", FEW, 0, 60)
