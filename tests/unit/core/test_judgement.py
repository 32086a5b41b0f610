"""What a change did is told at like load, with its interval, or as no difference seen: on made-up windows of a server
whose p99 grows with a load that swings fivefold, with heavy tails, moods that last, and neighbours that disturb."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace

import pytest
from lutra_models.judgement import Judgement, LoadedWindow, busy_elsewhere, judge, sentence
from lutra_models.metrics import TAKEN, Objective

from tests.support.pytest_plugins.suites import examples

pytestmark = pytest.mark.slow

P99 = Objective("p99_ms", "minimize")
CAPACITY = 1180.0
MOOD, KEPT, NOISE, DISTURBED = 0.04, 0.6, 0.06, 0.04
WARM_UP = 3


def heavy(rng: random.Random) -> float:
    """Student's t of four degrees of freedom, with a deviation of 1."""
    return rng.gauss(0, 1) / math.sqrt(rng.gammavariate(2, 0.5)) / math.sqrt(2)


def tried(
    seed: int, effect: float, before: int = 80, after: int = 12, kept: float = KEPT, trend: float = 0.0
) -> Judgement:
    """A change whose p99 is `effect` times that of before, at any time of a day of 24 to 1,440 windows.

    Its mood keeps `kept` from window to window, and its p99 grows by `trend` a window.
    """
    rng = random.Random(seed)
    began, day, mood, windows = rng.random() * 2 * math.pi, rng.choice([24, 60, 240, 1440]), 0.0, list[LoadedWindow]()
    for i in range(before + WARM_UP + after):
        swing = math.log(5) / 2 * math.sin(began + 2 * math.pi * i / day)
        rate = 1000 / math.sqrt(5) * math.exp(swing + 0.08 * rng.gauss(0, 1))
        use = min(rate / CAPACITY, 0.97)
        mood = kept * mood + math.sqrt(1 - kept**2) * MOOD * rng.gauss(0, 1)
        busy = rng.random() < DISTURBED
        p99 = (
            4
            * (1 + 2.5 * use**3 / (1 - use))
            * math.exp(mood + trend * i + NOISE * heavy(rng) + busy * abs(rng.gauss(0, 1)))
        )
        metrics = {
            "qps": rate,
            "p99_ms": p99 * (effect if i >= before else 1.0),
            "host.cpu_user_s_per_s": 2 * use,
            "host.cpu_iowait_s_per_s": 0.2 * use + busy,
        }
        windows.append(LoadedWindow(60.0 * i, 60.0, metrics, {}, "before" if i < before else "after"))
    return judge(windows[:before], windows[before + WARM_UP :], P99)


def test_of_40_changes_that_change_nothing_at_most_two_are_told_as_something() -> None:
    told = Counter(tried(seed, 1.0).verdict for seed in range(40))
    assert told["better"] + told["worse"] <= 2, told


@examples(20, 40)
def test_a_p99_that_grows_by_itself_and_moods_of_an_hour_are_seldom_taken_for_the_changes_effect(examples: int) -> None:
    for how in ({"trend": 0.001, "after": 48}, {"kept": 0.98, "after": 24}):
        told = Counter(tried(seed, 1.0, **how).verdict for seed in range(examples))
        assert told["better"] + told["worse"] <= examples // 10, (how, told)


def test_a_fifth_more_or_less_p99_is_told_in_four_of_five_tries_within_twelve_windows() -> None:
    for effect, verdict in ((1 / 1.2, "better"), (1.2, "worse")):
        told = Counter(tried(seed, effect).verdict for seed in range(100, 120))
        assert told[verdict] >= 16, (effect, told)


def test_a_load_that_grew_is_not_taken_for_the_changes_effect() -> None:
    quiet = [window(i, 400.0 + 10 * i, 4.0 + 0.01 * i) for i in range(20)]
    loud = [window(40 + i, 1000.0 + 10 * i, 9.0) for i in range(12)]
    found = judge(quiet, loud, P99)
    assert (found.verdict, found.after, found.ratio) == ("not_enough_at_like_load", 0, None)
    assert sentence(found) == (
        "not enough windows at comparable load to compare p99_ms: 0 windows against 0 before at "
        "comparable load, and 32 at "
        "a different load"
    )


def test_other_clients_and_another_mix_are_another_load() -> None:
    before = [window(i, 500.0, 5.0 + 0.01 * (i % 3)) for i in range(20)]
    many = [replace(window(40 + i, 500.0, 9.0), context={"clients": 64}) for i in range(8)]
    few = [replace(w, context={"clients": 16}) for w in before]
    assert judge(few, many, P99).verdict == "not_enough_at_like_load"
    writing = [replace(w, metrics={**w.metrics, "tps": 250.0}) for w in many]
    reading = [replace(w, metrics={**w.metrics, "tps": 20.0}) for w in before]
    assert judge(reading, writing, P99).verdict == "not_enough_at_like_load"


def test_windows_in_which_the_host_was_busy_with_something_else_are_marked_and_weigh_less() -> None:
    rng = random.Random(5)
    before = [window(i, 500.0, 5.0 * math.exp(0.03 * rng.gauss(0, 1))) for i in range(40)]
    after = [window(50 + i, 500.0, 5.0 * math.exp(0.03 * rng.gauss(0, 1))) for i in range(12)]
    spoilt = [disturbed(w) if i % 2 else w for i, w in enumerate(after)]
    shares = busy_elsewhere([*before, *spoilt])
    assert [share > 0.1 for share in shares] == [False] * 40 + [False, True] * 6
    found, blind = judge(before, spoilt, P99), judge(before, [unmarked(w) for w in spoilt], P99)
    assert (found.verdict, found.busy) == ("no_difference_seen", 6)
    assert found.ratio is not None
    assert blind.ratio is not None
    assert abs(math.log(found.ratio)) < abs(math.log(blind.ratio)) / 2
    assert sentence(found).endswith("; the host was busy with something else in 6 of them, which have less weight")


def test_a_disk_that_the_changed_settings_keep_busier_is_no_neighbour() -> None:
    before = [window(i, 500.0, 5.0) for i in range(20)]
    own = [replace(w, metrics={**w.metrics, "host.cpu_iowait_s_per_s": 1.0}, group="after") for w in before]
    assert not any(busy_elsewhere([*before, *own]))


def crowded(place: int, **host: float) -> LoadedWindow:
    of_host = {f"host.{name}": value for name, value in host.items()}
    return replace(window(place, 500.0, 27.0), metrics={"qps": 500.0, "p99_ms": 27.0, **of_host}, group="one")


def test_a_host_that_is_always_crowded_is_always_busy() -> None:
    """As its agent tells what others took; else by the load average, of which the short ones are the load's own."""
    assert busy_elsewhere([crowded(i, taken_share=0.8) for i in range(11)]) == [0.8] * 11
    seen = [crowded(i, load1=11.0 + 1.9 * i, cpu_user_s_per_s=1.6, cpu_system_s_per_s=0.4) for i in range(11)]
    shares = busy_elsewhere(seen)
    assert shares[-1] > 0.2
    assert shares[0] == 0.0


def test_neighbours_that_came_with_a_change_are_not_its_effect_and_those_of_before_hide_none() -> None:
    rng = random.Random(3)

    def at(place: int, effect: float = 1.0, more: float = 0.0) -> LoadedWindow:
        slower = 0.5 + more + 0.5 * math.sin(place)
        p99 = effect * 20.0 * math.exp(slower + 0.1 * rng.gauss(0, 1))
        return replace(window(place, 500.0, 1.0), metrics={"qps": 500.0, "p99_ms": p99, TAKEN: 1 - math.exp(-slower)})

    before = [at(i) for i in range(40)]
    assert judge(before, [at(50 + i, more=1.0) for i in range(10)], P99).verdict == "no_difference_seen"
    assert judge(before, [at(50 + i, effect=4 / 3) for i in range(10)], P99).verdict == "worse"


def test_a_rate_that_is_to_grow_is_no_covariate_of_itself() -> None:
    rng = random.Random(7)
    before = [window(i, 500.0 * math.exp(0.03 * rng.gauss(0, 1)), 5.0) for i in range(20)]
    after = [window(30 + i, 650.0 * math.exp(0.03 * rng.gauss(0, 1)), 5.0) for i in range(12)]
    found = judge(before, after, Objective("qps", "maximize"))
    assert (found.verdict, found.left_out) == ("better", 0)


def window(place: int, qps: float, p99_ms: float) -> LoadedWindow:
    metrics = {"qps": qps, "p99_ms": p99_ms, "host.cpu_user_s_per_s": 1.0, "host.cpu_steal_s_per_s": 0.0}
    metrics["host.cpu_iowait_s_per_s"] = 0.1
    return LoadedWindow(60.0 * place, 60.0, metrics, {}, "before" if place < 25 else "after")


def disturbed(window: LoadedWindow) -> LoadedWindow:
    more = {"p99_ms": 1.6 * window.metrics["p99_ms"], "host.cpu_steal_s_per_s": 0.8}
    return replace(window, metrics={**window.metrics, **more})


def unmarked(window: LoadedWindow) -> LoadedWindow:
    return replace(window, metrics={n: v for n, v in window.metrics.items() if not n.startswith("host.")})
