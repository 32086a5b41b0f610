"""Guards judge windows: what holds never fires, what is crossed fires when it has held for long enough."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_agent.guardrails.evaluate import WindowReading, baseline, evaluate, needed
from lutra_models.guardrails import DEFAULTS, GUARDS, Guardrail, laid_over

from tests.support.fakes.clock import START

CALM = {"p99_ms@histogram": 10.0, "qps": 1000.0, "error_share": 0.01}
VALUES = st.dictionaries(
    st.sampled_from(["p99_ms@histogram", "qps", "tps", "error_share", "disk_free_bytes", "unreachable"]),
    st.floats(0, 1e9),
    max_size=4,
)


def seen(*windows: dict[str, float], seconds: float = 10.0) -> list[WindowReading]:
    starts = [START + timedelta(seconds=seconds * i) for i in range(len(windows))]
    return [WindowReading(s, s + timedelta(seconds=seconds), w) for s, w in zip(starts, windows, strict=True)]


def fires(windows: Sequence[WindowReading]) -> list[str]:
    return [c.guard for c in evaluate(DEFAULTS, CALM, windows) if c.fires]


@pytest.mark.parametrize(
    ("guard", "crossing"),
    [
        ("p99", {"p99_ms@histogram": 20.1}),
        ("qps", {"qps": 499.0}),
        ("errors", {"error_share": 0.07}),
        ("memory", {"memory_free_share": 0.02}),
        ("replication_lag", {"replication.lag_s": 61.0}),
        ("disk", {"disk_free_bytes": 1e6}),
        ("unreachable", {"unreachable": 1.0}),
    ],
)
def test_each_guard_fires_once_its_hold_time_is_over(guard: str, crossing: dict[str, float]) -> None:
    hold_s = next(g for g in GUARDS if g.name == guard).default.hold_s
    enough = int(hold_s // 10)
    assert fires(seen(*[crossing] * enough)) == [guard]
    assert fires(seen(*[crossing] * (enough - 1))) == []


def test_one_good_reading_starts_the_hold_time_anew() -> None:
    bad, good = {"p99_ms@histogram": 99.0}, {"p99_ms@histogram": 9.0}
    assert fires(seen(bad, bad, good, bad, bad)) == []
    assert fires(seen(bad, good, bad, bad, bad)) == ["p99"]


def test_a_window_without_a_reading_neither_ends_nor_adds() -> None:
    bad: dict[str, float] = {"p99_ms@histogram": 99.0}
    assert fires(seen(bad, {}, bad)) == []
    assert fires(seen(bad, {}, bad, bad)) == ["p99"]


def test_a_gap_adds_no_time() -> None:
    first, last = seen({"unreachable": 1.0}, {"unreachable": 1.0})
    later = timedelta(hours=3)
    assert fires([first, WindowReading(last.start + later, last.end + later, last.values)]) == []


def test_a_p99_of_another_source_is_compared_with_nothing() -> None:
    assert fires(seen(*[{"p99_ms@estimated": 1e6}] * 10)) == []


def test_a_guard_that_needs_a_baseline_says_nothing_without_one() -> None:
    assert evaluate(DEFAULTS, {}, seen(*[{"qps": 0.0, "error_share": 1.0}] * 20)) == ()


def test_a_guard_that_is_switched_off_never_fires() -> None:
    guardrails = laid_over({"qps": Guardrail(0.5, 60.0, enabled=False)})
    assert evaluate(guardrails, CALM, seen(*[{"qps": 0.0}] * 20)) == ()


def test_the_figures_are_told() -> None:
    [crossing] = evaluate(DEFAULTS, CALM, seen(*[{"p99_ms@histogram": 35.0}] * 4))
    assert (crossing.value, crossing.bound, crossing.baseline, crossing.held_s) == (35.0, 20.0, 10.0, 40.0)
    assert str(crossing) == "p99: p99_ms@histogram is 35 for 40 s, bound 20, 10 before"


def test_the_baseline_is_the_median_of_at_least_three_readings() -> None:
    calm = seen({"qps": 1.0}, {"qps": 100.0, "tps": 3.0}, {"qps": 3.0, "tps": 4.0})
    assert baseline(calm) == {"qps": 3.0}


@given(st.lists(VALUES, max_size=12))
def test_what_holds_in_every_window_is_no_crossing(values: list[dict[str, float]]) -> None:
    found = {c.guard for c in evaluate(DEFAULTS, CALM, seen(*values))}
    for guard in GUARDS:
        readings = [r for v in values if (r := guard.reading(v)) is not None]
        bounds = [(value, guard.bound(DEFAULTS[guard.name].limit, CALM.get(name))) for name, value in readings]
        if all(bound is None or guard.holds(value, bound) for value, bound in bounds):
            assert guard.name not in found


@given(st.lists(VALUES, max_size=12), VALUES)
def test_a_later_window_never_shortens_what_still_stands_crossed(
    values: list[dict[str, float]], last: dict[str, float]
) -> None:
    before = {c.guard: c.held_s for c in evaluate(DEFAULTS, CALM, seen(*values))}
    after = {c.guard: c.held_s for c in evaluate(DEFAULTS, CALM, seen(*values, last))}
    assert all(after[g] >= before[g] for g in before.keys() & after.keys())


@given(st.lists(VALUES, max_size=60))
def test_forgetting_what_no_hold_time_asks_for_changes_no_firing(values: list[dict[str, float]]) -> None:
    full = seen(*[{**v, "qps": v.get("qps", 0.0)} for v in values])
    firing = [c.guard for c in evaluate(DEFAULTS, CALM, full) if c.fires and c.guard == "qps"]
    kept = needed(DEFAULTS, full)
    assert len(kept) <= 13
    assert [c.guard for c in evaluate(DEFAULTS, CALM, kept) if c.fires and c.guard == "qps"] == firing
