from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.tuning import report, summary
from benchmarks.tuning.__main__ import MEASURED, main
from benchmarks.tuning.rows import CODE, Results, newest, read
from benchmarks.tuning.workloads import TARGETS

pytestmark = pytest.mark.thorough

KEY = ("task", "seed", "code")


def test_a_run_that_was_kept_is_known_when_the_file_is_opened_again(tmp_path: Path) -> None:
    Results(tmp_path / "race.jsonl", KEY).add({"task": "t", "seed": 0, "code": "a", "scores": [0.0]})
    again = Results(tmp_path / "race.jsonl", KEY)
    assert {"task": "t", "seed": 0, "code": "a"} in again
    assert {"task": "t", "seed": 1, "code": "a"} not in again
    assert {"task": "t", "seed": 0, "code": "b"} not in again


def test_a_last_line_cut_short_is_left_out_and_a_broken_one_before_it_is_not(tmp_path: Path) -> None:
    path = tmp_path / "race.jsonl"
    path.write_text('{"seed": 0}\n{"seed": 1')
    assert read(path) == [{"seed": 0}]
    path.write_text('{"seed": 0\n{"seed": 1}\n')
    with pytest.raises(ValueError):
        read(path)


def test_what_was_computed_again_replaces_what_was_there() -> None:
    rows = [{"seed": 0, "x": 1}, {"seed": 1, "x": 2}, {"seed": 0, "x": 3}]
    assert newest(rows, ("seed",)) == [{"seed": 0, "x": 3}, {"seed": 1, "x": 2}]


def test_only_the_latest_version_of_a_groups_code_counts() -> None:
    rows = [{"task": "t", "code": c, "seed": s} for c, s in (("old", 0), ("old", 1), ("new", 0))]
    assert summary.latest(rows, ("task",)) == [rows[2]]


def test_a_difference_without_spread_is_exact() -> None:
    found = summary.difference([(np.full(5, 0.7), np.full(3, 0.5)), (np.full(2, 0.4), np.full(4, 0.5))])
    assert [found.mean, found.low, found.high] == pytest.approx([0.05] * 3)


def test_a_difference_has_its_mean_inside_its_interval() -> None:
    rng = np.random.default_rng(0)
    found = summary.difference([(rng.normal(0.6, 0.1, 10), rng.normal(0.5, 0.1, 5)) for _ in range(4)])
    assert found.low < found.mean < found.high


def test_the_first_trial_that_reaches_a_level_is_by_the_mean_over_seeds() -> None:
    rows = [{"scores": [0.0, 0.2, 0.6]}, {"scores": [0.0, 0.4, 0.4]}]
    assert summary.first_trial_at(rows, 0.3) == 2
    assert summary.first_trial_at(rows, 0.9) is None


@pytest.mark.slow
def test_a_report_without_results_says_how_to_get_them(tmp_path: Path) -> None:
    report.write(tmp_path / "none", tmp_path)
    text = (tmp_path / "RESULTS.md").read_text()
    for command in ("race", "warm", "coverage", "safe", "speed"):
        assert f"python -m benchmarks tuning {command}" in text
    assert "| botorch | 5 |" in text


def test_the_report_sets_our_race_beside_the_peers(tmp_path: Path) -> None:
    kept = Results(tmp_path / "race.jsonl", KEY)
    scores = [min(0.9, trial / 20) for trial in range(50)]
    for seed in (0, 1):
        run = {"scores": scores, "handed": scores, "ask_s": 0.1, "failures": 1, "unsafe": 2}
        kept.add({"task": "sysbench20", "optimiser": "lutra", "seed": seed, "budget": 50, "code": CODE, **run})
    text = report.cold(tmp_path)
    assert "| lutra | 2 | 0.450 | 0.900 | 0.900 | 0.900 ±0.000 | 0.900 | 1.0 | 2.0 | 0.10 |" in text
    assert "| sysbench20 | chosen on | botorch | +0.297 |" in text
    assert "| **average** | chosen on |" in text
    assert "| **average** | confirmed on |" not in text


def test_the_report_sets_a_target_with_past_workloads_beside_itself_without(tmp_path: Path) -> None:
    kept = Results(tmp_path / "warm.jsonl", KEY)
    for past, slow in (("none", 40), ("twenty", 8), ("strangers", 50)):
        scores = [min(1.0, trial / slow) for trial in range(1, 51)]
        kept.add({"target": TARGETS[0].name, "past": past, "seed": 0, "budget": 50, "code": CODE, "scores": scores})
    text = report.warm(tmp_path)
    assert f"| {TARGETS[0].name} | chosen on | twenty | 1 | 0.375 | 0.750 | 1.000 |" in text
    assert "- twenty: cold's @30 by trial 6 on 1 of 1 targets" in text
    assert f"at the least -0.116 ({TARGETS[0].name})" in text


@pytest.mark.parametrize("command", MEASURED, ids=lambda c: str(c.name))
def test_every_command_explains_itself(command: object) -> None:
    shown = CliRunner().invoke(main, [command.name, "--help"])
    assert shown.exit_code == 0
    assert "Usage" in shown.output


def test_an_unknown_task_is_refused_with_the_known_ones() -> None:
    shown = CliRunner().invoke(main, ["race", "--tasks", "nonsense"])
    assert shown.exit_code == 2
    assert "sysbench20, tuna-tpcc" in shown.output
