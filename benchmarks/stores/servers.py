"""What each engine brings to these studies: its scratch server, its data and its load."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_lab.servers.redis import ScratchRedis

from benchmarks.stores.studies import VALUE_BYTES, Study

FILL = ("-t", "set", "-c", "50", "-P", "50", "-d", str(VALUE_BYTES))


@dataclass(frozen=True)
class Kind:
    """`workload` is the load's name. `fill` raises LabError; `touch` reads all data once after a restart."""

    make: Callable[[Path, Mapping[str, str]], ScratchServer]
    workload: str
    fill: Callable[[Any, Study], None]
    load: Callable[[Study], dict[str, Any]]
    touch: Callable[[Any], object]


def _fill_redis(server: ScratchRedis, study: Study) -> None:
    """Each name is written three times on average, so that nearly all are there; a stop keeps them."""
    due = study.options.get("save", "")
    server.sql('CONFIG SET save "" appendfsync no')
    argv = ["redis-benchmark", "-p", str(server.port), *FILL, "-n", str(3 * study.size), "-r", str(study.size), "-q"]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"{argv[0]}: exit {done.returncode}: {done.stderr[-300:]}")
    server.sql(f'CONFIG SET save "{due}" appendfsync {study.options.get("appendfsync", "everysec")}')


def _sets(study: Study) -> dict[str, Any]:
    load = {"kind": "redis-benchmark", "clients": study.clients, "writes": 1.0}
    return {**load, "keys": study.size, "data_size": VALUE_BYTES}


def _transactions(study: Study) -> dict[str, Any]:
    load = {"kind": "pgbench", "script": "tpcb-like", "scale": study.size, "rate": study.rate}
    return {**load, "clients": study.clients, "threads": 2}


KINDS: Mapping[str, Kind] = {
    "redis": Kind(
        make=lambda folder, options: ScratchRedis(folder, options=options),
        workload="set",
        fill=_fill_redis,
        load=_sets,
        touch=lambda _server: None,  # a start reads everything
    ),
    "postgresql": Kind(
        make=lambda folder, options: ScratchPostgres(folder, options=options),
        workload="tpcb-like",
        fill=lambda server, study: server.fill(study.size),
        load=_transactions,
        touch=lambda server: server.sql("SELECT count(abalance), count(DISTINCT bid) FROM pgbench_accounts"),
    ),
}
