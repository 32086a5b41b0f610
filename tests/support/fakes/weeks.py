"""Simulated weeks after a change on a live database, and the looks at its gain: `python -m tests.support.fakes.weeks`
prints the false alarms and the decays that are reported within a day of load.

The load swings fivefold within a day and is lower on two days of the week. p99 grows with it, with heavy tails, moods
of minutes and of hours, and rare windows that something disturbs.
"""

from __future__ import annotations

import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lutra_models.judgement import JUST_AFTER_S, SPAN_S, Lasting, LoadedWindow, lasts
from lutra_models.judgement.lasting import STEP_S
from lutra_models.metrics import P99, QPS, Objective

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
WEEK_S = 7 * DAY_S
EVERY_S = 6 * HOUR_S
"""The time between two looks."""
QUARTER = 1.25
GAIN = 0.7
CAPACITY = 1180.0
MOODS = ((600.0, 0.04), (4 * HOUR_S, 0.03))
"""How long a mood lasts, and its deviation."""
OF_P99 = Objective(P99.name, "minimize")
OF_QPS = Objective(QPS.name, "maximize")
Effect = Callable[[float], float]


@dataclass
class Week:
    """`effect` is the factor of p99 at each second after the change, and the divisor of the rate if that is judged.

    `noise` is that of one window of `window_s`; `swing` is the load's within a day, and `growth` its exponent a day.
    """

    seed: int
    window_s: float = 60.0
    noise: float = 0.05
    effect: Effect = lambda _: GAIN
    objective: Objective = OF_P99
    swing: float = 5.0
    weekend: float = 0.6
    growth: float = 0.0
    changed_s: float = math.inf
    before: list[LoadedWindow] = field(default_factory=list)
    after: list[LoadedWindow] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._phase, self._weekday = self._random.random() * 2 * math.pi, self._random.randrange(7)
        self._moods, self._at_s = [deviation * self._random.gauss(0, 1) for _, deviation in MOODS], -DAY_S
        step, count = max(STEP_S, self.window_s), int(DAY_S / max(STEP_S, self.window_s))
        self.before = [self._window(i * step) for i in range(-count, 0)]
        self.after = [self._window(i * step) for i in range(1, 7 * count)]

    def _window(self, start_s: float) -> LoadedWindow:
        rng = self._random
        is_after, rate = start_s >= 0, self._rate(start_s)
        use = min(rate / CAPACITY, 0.97)
        disturbed = rng.random() < 0.01 and abs(rng.gauss(0, 1))
        factor = math.exp(self._mood(start_s) + self.noise * heavy(rng) + disturbed)
        effect = self.effect(start_s) if is_after else 1.0
        if self.objective == OF_P99:
            metrics = {"qps": rate, "p99_ms": 4 * (1 + 2.5 * use**3 / (1 - use)) * factor * effect}
        else:
            metrics = {"qps": rate / factor / effect, "p99_ms": 4.0}
        group = "before" if not is_after else "after" if start_s < self.changed_s else "changed"
        return LoadedWindow(start_s, self.window_s, metrics, {}, group)

    def _rate(self, at_s: float) -> float:
        weekend = self.weekend if (self._weekday + math.floor(at_s / DAY_S)) % 7 >= 5 else 1.0
        swing = math.log(self.swing) / 2 * math.sin(self._phase + 2 * math.pi * at_s / DAY_S)
        grown = self.growth * max(at_s, 0.0) / DAY_S
        return 1000 / math.sqrt(5) * weekend * math.exp(swing + grown + 0.08 * self._random.gauss(0, 1))

    def _mood(self, at_s: float) -> float:
        passed_s, self._at_s = at_s - self._at_s, at_s
        for i, (lasts_s, deviation) in enumerate(MOODS):
            kept = math.exp(-passed_s / lasts_s)
            self._moods[i] = kept * self._moods[i] + math.sqrt(1 - kept**2) * deviation * self._random.gauss(0, 1)
        return sum(self._moods)

    def looks(self, since_s: float = 0.0, until_s: float = WEEK_S) -> Iterator[tuple[float, Lasting]]:
        """Each look after a day and until a week is over, with its time in seconds after the change."""
        just_after = [w for w in self.after if w.start_s < JUST_AFTER_S]
        for place in range(int((WEEK_S - DAY_S) / EVERY_S) + 1):
            at_s = DAY_S + place * EVERY_S
            if since_s < at_s <= until_s:
                began_s = max(JUST_AFTER_S, at_s - SPAN_S)
                later = [w for w in self.after if began_s <= w.start_s < at_s]
                yield at_s, lasts([], just_after, later, self.objective)


def heavy(rng: random.Random) -> float:
    """Student's t of four degrees of freedom, with a deviation of 1."""
    return rng.gauss(0, 1) / math.sqrt(rng.gammavariate(2, 0.5)) / math.sqrt(2)


def sudden(at_s: float) -> Effect:
    return lambda t: GAIN * (QUARTER if t >= at_s else 1.0)


def gradual(end_s: float) -> Effect:
    """Over two days, until `end_s`."""
    return lambda t: GAIN * QUARTER ** min(max((t - end_s) / (2 * DAY_S) + 1, 0.0), 1.0)


def is_alarmed(week: Week) -> bool:
    """Whether any look says that the gain has decayed."""
    return any(found.state == "decayed" for _, found in week.looks())


def is_told(week: Week, at_s: float) -> bool:
    """Whether the decay that is complete at this time is told within a day."""
    return any(found.state == "decayed" for _, found in week.looks(at_s, at_s + DAY_S))


def moment(seed: int, first_s: float) -> float:
    """Of a decay in a week: a day of load follows."""
    return random.Random(f"moment {seed}").uniform(first_s, 6 * DAY_S)


def holding(seed: int, **more: Any) -> bool:
    return is_alarmed(Week(seed, **more))


def suddenly(seed: int, **more: Any) -> bool:
    at_s = moment(seed, JUST_AFTER_S)
    return is_told(Week(seed, effect=sudden(at_s), **more), at_s)


def gradually(seed: int, **more: Any) -> bool:
    at_s = moment(seed, JUST_AFTER_S + 2 * DAY_S)
    return is_told(Week(seed, effect=gradual(at_s), **more), at_s)


def changed(seed: int, **more: Any) -> bool:
    at_s = moment(seed, JUST_AFTER_S)
    return is_alarmed(Week(seed, effect=sudden(at_s), changed_s=at_s, **more))


def growing(seed: int, **more: Any) -> bool:
    """By a factor of three in a day: after some days, no load is one that was there just after the change."""
    return is_alarmed(Week(seed, growth=math.log(3), **more))


def rate_steady(seed: int, **more: Any) -> bool:
    return is_alarmed(Week(seed, objective=OF_QPS, swing=1.0, weekend=1.0, **more))


def rate_lost(seed: int, **more: Any) -> bool:
    at_s = moment(seed, JUST_AFTER_S)
    return is_told(Week(seed, effect=sudden(at_s), objective=OF_QPS, swing=1.0, weekend=1.0, **more), at_s)


def rate_swings(seed: int, **more: Any) -> bool:
    return is_alarmed(Week(seed, objective=OF_QPS, **more))


KINDS: dict[str, Callable[..., bool]] = {
    f.__name__: f for f in (holding, suddenly, gradually, changed, growing, rate_steady, rate_lost, rate_swings)
}


def main(kind: str, window_s: str, noise: str, first: str, last: str) -> None:
    seeds = range(int(first), int(last))
    of = Counter(KINDS[kind](seed, window_s=float(window_s), noise=float(noise)) for seed in seeds)
    print(f"{kind} {window_s} s {noise}: {of[True]} of {of.total()}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
