"""What a study has still to measure."""

from __future__ import annotations

import pytest

from benchmarks.lab.steps import Plan, remaining
from benchmarks.lab.studies import FEW, MANY, STUDIES, named

pytestmark = pytest.mark.thorough


def test_a_study_begins_with_its_trials_and_ends_with_many_threads() -> None:
    steps = remaining(Plan(trials=20, rounds=3), [])
    assert [s.kind for s in steps[:20]] == ["trial"] * 20
    assert {s.threads for s in steps[:-5]} == {FEW}
    assert [s.threads for s in steps[-5:]] == [MANY] * 5


def test_what_was_measured_is_not_measured_again() -> None:
    plan = Plan(trials=3, rounds=1)
    steps = remaining(plan, [])
    rows = [{"step": s.name} for s in steps[:4]]
    assert remaining(plan, rows) == steps[4:]
    assert remaining(plan, [{"step": s.name} for s in steps]) == []


def test_every_other_round_goes_backwards() -> None:
    finals = [s for s in remaining(Plan(trials=20, rounds=2), []) if s.kind == "final" and s.threads == FEW]
    names = [s.entrant for s in finals]
    assert names[5:] == names[:5][::-1]


def test_an_entrant_that_needs_more_trials_than_there_are_is_left_out() -> None:
    assert Plan(trials=10).entrants() == ("default", "two_knobs", "rule_based", "lutra_10")
    assert Plan(trials=3).entrants() == ("default", "two_knobs", "rule_based")


def test_every_step_and_every_study_has_a_name_of_its_own() -> None:
    names = [s.name for s in Plan().steps()]
    assert len(set(names)) == len(names)
    assert len({s.name for s in STUDIES}) == len(STUDIES)
    assert all(named(s.name) is s for s in STUDIES)
