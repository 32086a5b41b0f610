"""The race's figures, from rows alone."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.lab.race import report, summary
from benchmarks.lab.race.loads import named

pytestmark = pytest.mark.thorough

CONTEST = named("tpcc-postgresql")


CHANGED = {"rule_based": {"max_wal_size": 8192}, "lutra": {"max_wal_size": 4096, "work_mem": 64}}


def final(entrant: str, number: int, tps: float | None, at: str = "as tuned", field: str = "f") -> dict[str, Any]:
    metrics = {} if tps is None else {"tps": tps, "p99_ms": 10.0}
    where = {"kind": "final", "field": field, "at_clients": at, "round": number, "entrant": entrant}
    active = {"max_wal_size": 1024, "work_mem": 4096} | CHANGED.get(entrant, {})
    failure = "did_not_start: exit 1" if tps is None else None
    return {**where, "metrics": metrics, "failure": failure, "configuration": active}


def trial(number: int, tps: float | None, code: str = "c", kind: str = "trial") -> dict[str, Any]:
    metrics = {} if tps is None else {"tps": tps, "p99_ms": 10.0}
    told = {"kind": kind, "number": number, "code": code, "seconds": 60.0, "within": []}
    return {**told, "metrics": metrics, "failure": "refused: too much" if tps is None else None}


def test_a_gain_is_paired_by_round() -> None:
    """A drift that all share does not widen it."""
    rows = [
        final(e, n, tps * drift) for n, drift in ((1, 1.0), (2, 0.5)) for e, tps in (("rule_based", 100), ("x", 110))
    ]
    (base, other) = summary.places(CONTEST, rows, "as tuned")
    assert base.gain is None
    assert other.gain is not None
    assert [other.gain.mean, other.gain.low, other.gain.high] == pytest.approx([0.1, 0.1, 0.1])


def test_the_interval_is_students() -> None:
    found = summary.gain({1: math.e, 2: 1.0, 3: 1.0}, {1: 1.0, 2: 1.0, 3: 1.0}, larger_is_better=True)
    assert found is not None
    assert (found.low, found.high) == pytest.approx(
        (math.expm1(1 / 3 - 2.92 / 3), math.expm1(1 / 3 + 2.92 / 3)), rel=1e-3
    )


def test_less_is_a_gain_where_less_is_better() -> None:
    found = summary.gain({1: 50.0}, {1: 100.0}, larger_is_better=False)
    assert found == summary.Gain(pytest.approx(1.0), None, None)


def test_a_round_that_failed_is_counted_and_not_paired() -> None:
    rows = [final("rule_based", 1, 100), final("x", 1, None), final("rule_based", 2, 100), final("x", 2, 120)]
    other = summary.places(CONTEST, rows, "as tuned")[1]
    assert (other.rounds, other.failed) == (2, 1)
    assert other.gain == summary.Gain(pytest.approx(0.2), None, None)


def test_changes_are_counted_from_the_default() -> None:
    rows = [final(entrant, 1, 100) for entrant in ("default", "rule_based", "lutra")]
    assert [place.changes for place in summary.places(CONTEST, rows, "as tuned")] == [0, 1, 2]


def test_turns_of_an_older_field_do_not_count() -> None:
    rows = [final("x", 1, 500, field="old"), final("rule_based", 1, 100)]
    assert [place.entrant for place in summary.places(CONTEST, rows, "as tuned")] == ["rule_based"]


def test_trials_of_an_older_version_do_not_count() -> None:
    rows = [trial(1, 80, "old"), trial(1, 90, "new"), trial(2, None, "new", kind="refused")]
    assert [row["metrics"]["tps"] for row in summary.tried(rows)] == [90]


def test_the_best_so_far_is_told_over_the_seconds_of_all_trials() -> None:
    rows = [trial(1, 80), trial(2, None), trial(3, 70), trial(4, 100)]
    assert summary.best_over_time(CONTEST, rows) == [(60.0, 80), (180.0, 80), (240.0, 100)]


def test_the_report_says_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    about = {"kind": "about", "version": "15.1", "knobs": 34, "clients": 16, "warmup_s": 35, "duration_s": 40}
    about |= {"host": {"memory_bytes": 3 << 30, "cores": 2}, "limits": {"read_iops": 3000, "write_iops": 800}}
    folder = tmp_path / CONTEST.name
    folder.mkdir()
    files = {
        "lutra": [about, trial(1, 80), trial(2, 120)],
        "smac": [about, trial(1, 82), trial(2, None, kind="refused"), trial(2, 90)],
        "finals": [about, *(final(e, n, tps) for n in (1, 2) for e, tps in (("rule_based", 100 + n), ("lutra", 110)))],
    }
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    page, *plots = report.write(tmp_path, tmp_path)
    text = page.read_text()
    assert "Not run yet." in text
    assert "| SMAC3" in text
    assert "Lutra (`c`)" in text
    assert "110.0" in text
    assert "34 settings; 16 clients; windows of 40 s after 35 s" in text
    assert [plot.name for plot in plots] == ["tpcc-postgresql.svg"]
