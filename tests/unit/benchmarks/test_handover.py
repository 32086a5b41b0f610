from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.tuning.handover import compared, summary
from benchmarks.tuning.report_handover import handover
from tests.support.service.small_task import small_task

pytestmark = pytest.mark.thorough


def test_a_handover_is_compared_at_its_true_value_and_one_that_fails_gains_nothing() -> None:
    task = small_task()
    full = task.default.replace({"buffers": 8_000, "method": "fast"})
    row = compared(task, full, task.default.replace({"buffers": 8_000}))
    assert (row["full_settings"], row["settings"]) == (2, 1)
    assert row["full_gain"] == round(task.score(task.truth(full)), 4)
    fails = task.default.replace({"buffers": 60_000})
    assert task.fails(fails)
    assert compared(task, full, fails)["gain"] == 0.0


def test_the_share_is_of_all_runs_gains_together() -> None:
    rows = [
        {"full_settings": 20, "settings": 4, "full_gain": 0.5, "gain": 0.5},
        {"full_settings": 10, "settings": 8, "full_gain": 0.3, "gain": 0.1},
        {"full_settings": 30, "settings": 5, "full_gain": 0.0, "gain": 0.0},
    ]
    told = summary(rows)
    assert (told["full_settings"], told["settings"]) == (20, 5)
    assert told["share"] == pytest.approx(0.75)


def test_the_report_says_how_to_get_what_is_missing(tmp_path: Path) -> None:
    assert "benchmarks tuning handover" in handover(tmp_path)
