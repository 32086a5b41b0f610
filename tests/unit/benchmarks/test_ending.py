from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lutra_models.metrics import Goal

from benchmarks.tuning.ending import CHANGE_S, WARMUP_S, WINDOW_S, play, window
from benchmarks.tuning.report_ending import ending
from benchmarks.tuning.rows import Results
from tests.support.service.small_task import small_task

pytestmark = pytest.mark.thorough

KEY = ("task", "arm", "seed", "trials", "code")
WHOLE_S = CHANGE_S + WARMUP_S + WINDOW_S


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_a_windows_seconds_come_to_its_number(goal: Goal) -> None:
    for seed in range(20):
        seconds = window(500.0, goal, np.random.default_rng(seed))
        assert len(seconds) == WINDOW_S
        assert np.mean(seconds) == pytest.approx(500.0)
        assert np.all(seconds > 0)


@pytest.mark.slow
def test_only_the_searchs_windows_are_ended_and_each_saves_seconds() -> None:
    whole, early = (play(small_task(), 0, 10, early) for early in (False, True))
    assert whole["ended"] == whole["missed"] == 0
    assert early["seconds"][:6] == whole["seconds"][:6]
    spent = np.diff([0.0, *early["seconds"]])
    assert sum(s not in (WHOLE_S, 10.0) for s in spent) == early["ended"]
    assert np.all(spent <= WHOLE_S)


def test_the_report_compares_what_met_the_same_noise(tmp_path: Path) -> None:
    kept = Results(tmp_path / "ending.jsonl", KEY)
    for arm, seconds, score in (("whole", 100.0, 0.5), ("ended", 60.0, 0.6)):
        row = {"score": score, "best": score, "seconds": [seconds], "ended": 4, "held": 3, "missed": 1}
        kept.add({"task": "shop", "arm": arm, "seed": 0, "trials": 10, "code": "c", **row})
    assert "| shop, 10 trials | 1 | 40% | 0.500 | +0.100 ± 0.000 | +0.100 ± 0.000 | 4 | 75% | 1 |" in ending(tmp_path)
    assert "python -m benchmarks tuning ending" in ending(tmp_path / "nowhere")
