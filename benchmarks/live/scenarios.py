"""What is wrong with a server that is otherwise well tuned, and the load under which it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.lab.labs import SORTING_LUA, SORTING_SQL

DISTINCT_LUA = Path(__file__).parent / "distinct.lua"


@dataclass(frozen=True)
class Clients:
    """A load at a rate: the driver's section without its times. Transactions a second; `swings` to five times as many
    and back, slice by slice."""

    section: Mapping[str, Any]
    swings: bool = False


@dataclass(frozen=True)
class Scenario:
    """`fault`: the settings that were made wrong, as texts; none where nothing is. `memory_gib` is the host's."""

    engine: str
    what: str
    fault: Mapping[str, str]
    clients: Clients
    memory_gib: int = 4
    cure: Sequence[str] = field(default=())
    """Settings that count as the faulty ones, where others cure the fault as well."""

    @property
    def name(self) -> str:
        return f"{self.engine}: {self.what}"

    @property
    def named(self) -> frozenset[str]:
        return frozenset((*self.fault, *self.cure))


def _pgbench(script: str, clients: int, rate: int) -> Clients:
    return Clients({"kind": "pgbench", "script": script, "clients": clients, "rate": rate, "settle": []})


def _sysbench(script: str, threads: int, rate: int, swings: bool = False) -> Clients:
    return Clients({"kind": "sysbench", "script": script, "threads": threads, "rate": rate}, swings)


_WRITES = _pgbench("tpcb-like", 8, 150)
_READS = _pgbench("select-only", 8, 1500)
_FEW_READS = _pgbench("select-only", 4, 50)
_SORTS = _pgbench(str(SORTING_SQL), 4, 12)
_MIXED = _sysbench("oltp_read_write", 8, 30)
_INNODB_WRITES = _sysbench("oltp_write_only", 8, 100)
_INNODB_READS = _sysbench("oltp_read_only", 8, 60)
_INNODB_SORTS = _sysbench(str(SORTING_LUA), 4, 8)
_INNODB_DISTINCT = _sysbench(str(DISTINCT_LUA), 4, 8)

POSTGRESQL = (
    ("write-ahead log too small", {"max_wal_size": "64MB"}, _WRITES, ()),
    ("checkpoints too often", {"checkpoint_timeout": "30s"}, _WRITES, ()),
    ("cache too small", {"shared_buffers": "4MB"}, _READS, ()),
    ("sorts without room", {"work_mem": "64kB"}, _SORTS, ()),
    ("index scans priced out", {"random_page_cost": "1000"}, _SORTS, ()),
    ("JIT for short queries", {"jit": "on", "jit_above_cost": "0"}, _FEW_READS, ()),
    ("WAL buffers too small", {"wal_buffers": "32kB"}, _WRITES, ()),
    ("vacuum starved", {"autovacuum_vacuum_scale_factor": "1"}, _WRITES, ("autovacuum_vacuum_threshold",)),
    ("checkpoints in bursts", {"checkpoint_completion_target": "0.1"}, _WRITES, ()),
)
INNODB = (
    ("cache too small", {"innodb_buffer_pool_size": "16MB"}, _INNODB_READS, ()),
    ("flushing too timid", {"innodb_io_capacity": "100"}, _INNODB_WRITES, ("innodb_io_capacity_max",)),
    (
        "flushing beyond the disk",
        {"innodb_io_capacity": "20000", "innodb_io_capacity_max": "40000"},
        _INNODB_WRITES,
        (),
    ),
    ("temporary tables without room", {"tmp_table_size": "1kB"}, _INNODB_DISTINCT, ("max_heap_table_size",)),
    ("table cache too small", {"table_open_cache": "10"}, _MIXED, ()),
    ("sorts without room", {"sort_buffer_size": "32kB"}, _INNODB_SORTS, ()),
    ("hardly a dirty page allowed", {"innodb_max_dirty_pages_pct": "0.5"}, _INNODB_WRITES, ()),
)
REDO = {"mysql": "innodb_redo_log_capacity", "mariadb": "innodb_log_file_size"}
LOG_BUFFER = {"mysql": "256kB", "mariadb": "2MB"}
"""The least that each takes."""


def _of_postgresql() -> list[Scenario]:
    made = [Scenario("postgresql", what, fault, load, cure=cure) for what, fault, load, cure in POSTGRESQL]
    made.append(Scenario("postgresql", "nothing wrong", {}, _WRITES))
    made.append(Scenario("postgresql", "nothing wrong, a load that swings", {}, Clients(_WRITES.section, swings=True)))
    return made


def _of_innodb(engine: str) -> list[Scenario]:
    made = [Scenario(engine, what, fault, load, cure=cure) for what, fault, load, cure in INNODB]
    made.append(
        Scenario(engine, "log buffer too small", {"innodb_log_buffer_size": LOG_BUFFER[engine]}, _INNODB_WRITES)
    )
    made.append(Scenario(engine, "redo log too small", {REDO[engine]: "8MB"}, _INNODB_WRITES))
    made.append(Scenario(engine, "nothing wrong", {}, _MIXED))
    made.append(Scenario(engine, "nothing wrong, a load that swings", {}, Clients(_MIXED.section, swings=True)))
    return made


SCENARIOS: tuple[Scenario, ...] = (*_of_postgresql(), *_of_innodb("mariadb"), *_of_innodb("mysql"))


def named(name: str) -> Scenario:
    """Raises KeyError."""
    return {s.name: s for s in SCENARIOS}[name]
