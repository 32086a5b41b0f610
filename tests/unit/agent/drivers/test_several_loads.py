"""Loads that have a name in the agent's file, and what a trial under several of them reports."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lutra_agent.drivers import build, build_loads
from lutra_agent.drivers.base import Measurement
from lutra_agent.errors import ConfigError, DriverFailed
from lutra_agent.metrics.measure import Driven, together

from tests.support.servers.databases import Where

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
PGBENCH = {"kind": "pgbench", "clients": 4, "script": "select-only"}


def driven(after_s: float, seconds: float, counters: dict[str, float], clients: int = 2, **metrics: float) -> Driven:
    begin = BEGIN + timedelta(seconds=after_s)
    measured = Measurement(begin, begin + timedelta(seconds=seconds), metrics, "transaction", "tpcb-like")
    return Driven(measured, counters, {"driver": "pgbench", "clients": clients})


def test_a_load_is_the_driver_with_what_differs() -> None:
    loads = [{"name": "few", "clients": 2}, {"name": "many", "clients": 64, "script": "simple-update"}]
    found = build_loads({**PGBENCH, "loads": loads}, Where())
    assert [(n, d.context()["clients"], d.context()["script"]) for n, d in found.items()] == [
        ("few", 2, "select-only"),
        ("many", 64, "simple-update"),
    ]
    assert build({**PGBENCH, "loads": loads}, Where()).context()["clients"] == 4


def test_a_file_without_loads_names_none() -> None:
    assert build_loads(PGBENCH, Where()) == {}


@pytest.mark.parametrize(
    ("loads", "complaint"),
    [
        ({"name": "few"}, "expected a list of tables"),
        ([3], "expected a list of tables"),
        ([{"clients": 2}], r"driver\.loads\[0\]\.name: expected letters"),
        ([{"name": "a b"}], r"got 'a b'"),
        ([{"name": "few"}, {"name": "few"}], "the name of two loads"),
        ([{"name": "few", "clients": 0}], r"driver\.loads\[0\], few: driver\.clients: 0 is outside"),
        ([{"name": "few", "client": 2}], r"few: unknown: driver\.client \(did you mean clients\?\)"),
        ([{"name": f"l{i}"} for i in range(9)], "at most 8 loads, got 9"),
    ],
)
def test_a_fault_of_a_load_names_its_place(loads: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        build_loads({**PGBENCH, "loads": loads}, Where())


def test_every_kind_of_driver_takes_loads() -> None:
    printed = {"few": {"tps": 1.0}, "many": {"tps": 2.0}}
    loads = [
        {"name": n, "command": [sys.executable, "-c", f"print('''{json.dumps(p)}''')"]} for n, p in printed.items()
    ]
    config = {"kind": "command", "command": ["false"], "warmup_s": 0, "duration_s": 1, "loads": loads}
    assert {n: d.run().metrics for n, d in build_loads(config, Where()).items()} == printed


def test_what_clients_saw_has_the_loads_name_and_the_counters_are_the_means() -> None:
    few = driven(0, 10, {"host.load1": 1.0, "wal.bytes_per_s": 5.0}, qps=100.0, p99_ms=3.0)
    many = driven(15, 30, {"host.load1": 5.0}, clients=16, qps=900.0, p99_ms=9.0)
    found = together({"few": few, "many": many})
    assert found.metrics == {
        "qps.few": 100.0,
        "p99_ms.few": 3.0,
        "qps.many": 900.0,
        "p99_ms.many": 9.0,
        "host.load1": 4.0,
    }
    assert found.window == (BEGIN, BEGIN + timedelta(seconds=45))
    assert found.latency is None
    assert found.context == {
        "driver": "loads few, many",
        "driver.few": "pgbench",
        "clients.few": 2,
        "p99_of.few": "transaction",
        "driver.many": "pgbench",
        "clients.many": 16,
        "p99_of.many": "transaction",
    }


def test_a_name_that_becomes_too_long_is_a_failure_with_a_reason() -> None:
    with pytest.raises(DriverFailed, match="at most 128"):
        together({"many": driven(0, 1, {}, **{"x" * 126: 1.0})})
