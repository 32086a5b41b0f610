"""A step of a study, over a place that answers at once."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from lutra_models.knobs import Configuration

from benchmarks.lab.data import Setting
from benchmarks.lab.place import Place, Reading
from benchmarks.lab.run import about, differences, line, measured
from benchmarks.lab.session import Session
from benchmarks.lab.steps import Plan, Step, remaining
from benchmarks.lab.studies import named
from tests.support.reported.mysql import a_mysqld

pytestmark = pytest.mark.thorough

STUDY = named("mariadb-write_only-qps-durable")
SESSION = Session(STUDY, a_mysqld("mariadb", 4, 2, rotational=True), {"threads": 16})


class FakePlace:
    """Answers with `readings`, one after the other, and keeps what it was asked."""

    def __init__(self, *readings: dict[str, Any]) -> None:
        self.readings = list(readings)
        self.asked: list[tuple[Configuration, int, bool]] = []

    def measured(self, configuration: Configuration, _workload: str, threads: int, restore: bool = False) -> Reading:
        self.asked.append((configuration, threads, restore))
        return Reading(**{"active": configuration, "metrics": {}, **self.readings.pop(0)})


def row_of(step: Step, place: FakePlace, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return measured(STUDY, step, SESSION, cast("Place", place), rows)


def test_a_row_is_all_that_the_next_step_needs_to_know() -> None:
    place = FakePlace({"metrics": {"qps": 900.0, "p99_ms": 601.3}}, {"metrics": {"qps": 5000.0, "p99_ms": 90.0}})
    rows: list[dict[str, Any]] = []
    for step in remaining(Plan(trials=2, rounds=0), rows)[:2]:
        rows.append(json.loads(json.dumps(row_of(step, place, rows))))
    assert [r["origin"] for r in rows] == ["current", "rule_based"]
    assert [c for c, _, _ in place.asked] == [SESSION.default, SESSION.rule_based]
    assert SESSION.history(rows).values("qps") == [(SESSION.default, 900.0), (SESSION.rule_based, 5000.0)]
    assert "best 5,000" in line(STUDY, Plan(trials=2), rows[-1], rows, 90)


def test_a_study_does_not_go_on_with_other_windows_than_it_began_with() -> None:
    begun = json.loads(json.dumps(about(SESSION, Setting())))
    assert differences(begun, about(SESSION, Setting())) == ""
    assert differences(begun, about(SESSION, Setting(duration_s=20))) == "duration_s was 40, is 20"


def test_what_the_server_made_of_a_value_is_kept_with_what_was_asked() -> None:
    rounded = SESSION.default.replace({"innodb_io_capacity": 400})
    row = row_of(Step("trial", 1), FakePlace({"active": rounded, "metrics": {"qps": 1.0, "p99_ms": 1.0}}), [])
    assert row["configuration"]["innodb_io_capacity"] == 400
    assert row["asked"] == {"innodb_io_capacity": SESSION.default["innodb_io_capacity"]}


def test_a_failed_trial_is_a_row_without_a_reading() -> None:
    row = row_of(Step("trial", 1), FakePlace({"failure": "did_not_start: exit 1"}), [])
    assert (row["metrics"], row["failure"]) == ({}, "did_not_start: exit 1")
    assert "did_not_start: exit 1" in line(STUDY, Plan(), row, [row], 0)


def test_only_the_final_rounds_may_go_beyond_the_memory_limit() -> None:
    place = FakePlace(*({"metrics": {"qps": 1.0, "p99_ms": 1.0}} for _ in range(2)))
    row_of(Step("trial", 1), place, [])
    row_of(Step("final", 1, 32, "two_knobs"), place, [])
    assert [(threads, restore) for _, threads, restore in place.asked] == [(16, False), (32, True)]
    assert place.asked[1][0] == SESSION.two_knobs
