"""p99 from what is seen of transactions at moments, where the truth is known."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from lutra_agent.engines.postgresql.telemetry.ages.bins import (
    ENDS_MS,
    RANGES,
    RATIO,
    Counter,
    Counts,
    quantile_ms,
    range_of,
)
from lutra_agent.engines.postgresql.telemetry.ages.distribution import Seen, masses, percentile, together
from lutra_agent.engines.postgresql.telemetry.ages.sampler import Looks
from lutra_agent.engines.postgresql.telemetry.telemetry import p99

WINDOW_MS = 30_000.0
LOOKS_PER_S = 16
NOTHING = Counts()


def simulated(
    duration: Callable[[random.Random], float], rate: float, connections: int, seed: int
) -> tuple[Seen, float]:
    """What is seen of connections that each wait for their turns, and the true p99."""
    chance = random.Random(seed)
    ages, ended, all_ms = Counter(), Counter(), []
    looks = sorted(chance.uniform(0, WINDOW_MS) for _ in range(round(WINDOW_MS / 1000 * LOOKS_PER_S)))
    for _ in range(connections):
        free, due, last, at = 0.0, 0.0, None, 0
        while free < WINDOW_MS:
            due += chance.expovariate(rate / connections / 1000)
            begun = max(due, free + 0.1)
            while at < len(looks) and looks[at] < begun:
                if last is not None:
                    ended.add([last])
                    last = None
                at += 1
            last = duration(chance)
            free = begun + last
            while at < len(looks) and looks[at] < free:
                ages.add([looks[at] - begun])
                at += 1
            all_ms.append(last)
    true_ms = sorted(all_ms)[round(0.99 * len(all_ms))]
    return Seen(ages.counts(), ended.counts(), len(looks), len(all_ms), WINDOW_MS), true_ms


def log_normal(median_ms: float, sigma: float) -> Callable[[random.Random], float]:
    return lambda chance: median_ms * chance.lognormvariate(0, sigma)


def stalling(chance: random.Random) -> float:
    return (30 if chance.random() < 0.02 else 0.5) * chance.lognormvariate(0, 0.3)


LOADS = {
    "most of the time idle": (log_normal(1, 0.8), 200, 8),
    "most of the time busy": (log_normal(12, 0.8), 400, 8),
    "a few stalls": (stalling, 300, 8),
    "few and long": (log_normal(60, 1), 20, 8),
}


@pytest.mark.parametrize("load", LOADS)
def test_the_p99_of_transactions_is_within_its_error_of_the_true_one(load: str) -> None:
    seen, true_ms = simulated(*LOADS[load], seed=3)
    fitted = masses(seen)
    assert fitted is not None
    found = percentile(seen, fitted)
    assert found.ms == pytest.approx(true_ms, rel=max(0.2, 3 * found.error_share))
    assert sum(fitted) == pytest.approx(seen.transactions)


@pytest.mark.parametrize("load", ["most of the time busy", "a few stalls", "few and long"])
def test_ages_alone_give_the_p99_of_transactions_of_several_statements(load: str) -> None:
    seen, true_ms = simulated(*LOADS[load], seed=5)
    fitted = masses(Seen(seen.ages, NOTHING, seen.samples, seen.transactions, seen.window_ms))
    assert fitted is not None
    assert percentile(seen, fitted).ms == pytest.approx(true_ms, rel=0.35)


def test_ages_alone_do_not_widen_transactions_that_are_much_alike() -> None:
    for median_ms, sigma, rate in ((1.2, 0.2, 200), (2.0, 0.3, 60), (20.0, 0.1, 40)):
        seen, true_ms = simulated(log_normal(median_ms, sigma), rate, 8, seed=7)
        fitted = masses(Seen(seen.ages, NOTHING, seen.samples, seen.transactions, seen.window_ms))
        assert fitted is not None
        assert percentile(seen, fitted).ms == pytest.approx(true_ms, rel=0.25), (median_ms, sigma)


def test_ends_that_are_seen_the_less_often_the_longer_they_took_do_not_hide_the_tail() -> None:
    seen, true_ms = simulated(*LOADS["most of the time busy"], seed=11)
    alone = quantile_ms([float(c) for c in seen.ended.of], 0.99)
    fitted = masses(seen)
    assert fitted is not None
    assert alone < 0.8 * true_ms
    assert percentile(seen, fitted).ms > 0.85 * true_ms


def test_a_session_that_sits_in_its_transaction_for_hours_moves_nothing() -> None:
    seen, _ = simulated(*LOADS["a few stalls"], seed=3)
    sitting = Counter()
    sitting.add([3.6e6] * seen.samples)
    both = Counts(tuple(a + b for a, b in zip(seen.ages.of, sitting.counts().of, strict=True)))
    with_it = masses(Seen(both, seen.ended, seen.samples, seen.transactions, WINDOW_MS))
    without = masses(seen)
    assert with_it is not None
    assert without is not None
    assert quantile_ms(with_it, 0.99) == pytest.approx(quantile_ms(without, 0.99), rel=0.1)


def test_too_few_transactions_or_looks_have_no_p99() -> None:
    seen, _ = simulated(*LOADS["most of the time idle"], seed=3)
    assert masses(Seen(seen.ages, seen.ended, seen.samples, 99, WINDOW_MS)) is None
    assert masses(Seen(NOTHING, NOTHING, seen.samples, 5000, WINDOW_MS)) is None
    none = Looks(0, NOTHING, NOTHING, 0, NOTHING)
    assert p99(none, Looks(19, seen.ages, seen.ended, 0, NOTHING), 5000, 30) is None


def test_statements_that_end_transactions_leave_the_word_to_the_ages() -> None:
    seen, true_ms = simulated(*LOADS["most of the time busy"], seed=5)
    none = Looks(0, NOTHING, NOTHING, 0, NOTHING)
    short = Counter()
    short.add([0.1] * 300)
    mixed = Looks(seen.samples, seen.ages, short.counts(), 600, NOTHING)
    found = p99(none, mixed, seen.transactions, WINDOW_MS / 1000)
    assert found is not None
    assert found.ms == pytest.approx(true_ms, rel=0.3)


def test_the_way_to_the_server_is_added_as_it_was_seen() -> None:
    inside = [0.0] * RANGES
    inside[range_of(1.0)] = 1000.0
    waits = Counter()
    waits.add([0.1] * 90 + [20.0] * 10)
    assert quantile_ms(together(inside, waits.counts()), 0.99) == pytest.approx(21, rel=0.15)
    assert together(inside, NOTHING) == tuple(inside)


@pytest.mark.parametrize("ms", [-0.2, 0.0, 0.01, 0.5, 12.0, 1e12])
def test_a_duration_lies_in_its_range(ms: float) -> None:
    place = range_of(ms)
    assert ms <= ENDS_MS[place] or place == RANGES - 1
    assert place == 0 or ms > ENDS_MS[place] / RATIO * 0.999
