"""What the stores' benchmark has still to measure, and what its rounds say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.stores.report import table
from benchmarks.stores.run import Plan, remaining
from benchmarks.stores.studies import STUDIES

pytestmark = pytest.mark.thorough

DISK = STUDIES["disk"]


def test_trials_come_first_and_every_other_round_goes_backwards() -> None:
    steps = remaining(DISK, Plan(trials=2, rounds=2), [])
    assert [s[:2] for s in steps[:4]] == [("trial", name) for name in DISK.policies for _ in range(2)]
    assert [name for _, name, _ in steps[4:]] == [*DISK.entrants, *DISK.entrants[::-1]]


def test_what_was_measured_is_not_measured_again() -> None:
    plan = Plan(trials=2, rounds=1)
    steps = remaining(DISK, plan, [])
    rows = [{"step": f"{kind} {number}, {name}"} for kind, name, number in steps]
    assert remaining(DISK, plan, rows[:3]) == steps[3:]
    assert remaining(DISK, plan, rows) == []


def test_ratios_are_within_a_round(tmp_path: Path) -> None:
    """Also where the machine was twice as slow in one of them."""

    def row(entrant: str, number: int, p99_ms: float) -> str:
        metrics = {"p99_ms": p99_ms, "qps": 1000 / p99_ms, "peak_memory_bytes": 2**30}
        metrics["persistence.latest_fork_us"] = 1500
        made = {"kind": "round", "entrant": entrant, "number": number, "metrics": metrics, "failure": None}
        return json.dumps({**made, "moved": {"hz": 20}})

    name = DISK.entrants[1]
    rows = [row("default", 1, 10), row(name, 1, 5), row(name, 2, 8), row("default", 2, 20)]
    (tmp_path / "disk.jsonl").write_text("\n".join(rows) + "\n")
    lines = table(DISK, tmp_path).splitlines()
    assert f"| {name} | 6.50 | 0.45 (0.40–0.50) |" in lines[3]
    assert "not measured" in lines[4]
