"""What the warm race offers its targets."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.tuning import tables
from benchmarks.tuning.warm_tasks import OBJECTIVE, past_workload, warm_task
from benchmarks.tuning.workloads import OFFERED, TARGETS, Target
from tests.support.service.small_task import small_table

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_a_target_is_offered_twenty_past_workloads_and_never_itself(target: Target) -> None:
    offered = target.past()
    assert len(set(offered)) == OFFERED
    assert target.name not in offered
    assert set(target.related) < set(offered)
    assert set(target.past(strangers_alone=True)) == set(offered) - set(target.related)


def test_methods_are_confirmed_on_as_many_targets_as_they_were_chosen_on() -> None:
    assert sum(t.chosen_on for t in TARGETS) * 2 == len(TARGETS) >= 8


def test_the_halves_of_a_table_share_no_row() -> None:
    table = small_table()
    one, other = tables.parted(table, 0), tables.parted(table, 1)
    assert len(one.values) + len(other.values) == len(table.values)
    assert np.array_equal(one.values, table.values[::2])
    assert np.array_equal(other.settings, table.settings[1::2])


def test_a_scrambled_table_holds_the_same_readings_under_other_configurations() -> None:
    table = small_table()
    dealt = tables.scrambled(table)
    assert dealt.settings.equals(table.settings)
    assert sorted(dealt.values) == sorted(table.values)
    assert not np.array_equal(dealt.values, table.values)


def test_a_past_workload_is_what_was_measured_with_failures_as_failures() -> None:
    table = small_table()
    past = past_workload(table, rows=40)
    assert len(past.observations) == 40
    assert past.observations[0].completed == (not table.failed[0])
    read = {float(v) for v in table.values}
    assert all(o.metrics[OBJECTIVE] in read for o in past.observations if o.completed)


def test_a_target_without_counters_shows_the_objective_alone() -> None:
    warm = warm_task(small_table())
    assert warm.measure(warm.task.default, np.random.default_rng(0)).keys() == {OBJECTIVE}
