"""Whole sessions on simulated servers: the recommender's trials, windows that end early, and the verification.

Nothing is simulated but the server and its clock: recommendations, early endings, turns and verdicts are Lutra's own.
Shapes: k knobs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import click
import numpy as np
from lutra_models import Choice, Configuration, History, Knob, KnobSpace, Number, Observation
from lutra_models.ending import Level, ended
from lutra_models.gp import fit
from lutra_models.verification import ROUNDS, Contest, Finalist, FinalistName

from benchmarks.verification.servers import DIFFERENCE, LATER_ROUNDS, NOISE, QPS, STALL, End, measured, told_of

BEFORE_S, WINDOW_S, SLICE_S = 15, 60, 2
"""A trial's seconds until its window begins, those of its window, and those of a reading inside it."""
SLOWED = 2 / 3
OLD, NEW = {"plan": "old"}, {"plan": "new"}


@dataclass(frozen=True)
class Surface:
    """What may be set, what it gives (the mean of a window), and with what chance a configuration's window stalls."""

    space: KnobSpace
    default: Configuration
    speed: Callable[[Mapping[str, Any]], float]
    stalls: Callable[[Mapping[str, Any]], float] = lambda _: 0.0
    starts: tuple[Configuration, ...] = ()


@dataclass
class Host:
    """A server on its own clock. From `slow_from_s` on it is slower by a third; each session's noise is drawn."""

    surface: Surface
    slow_from_s: float
    rng: Random
    clock_s: float = 0.0
    noise: float = field(init=False)

    def __post_init__(self) -> None:
        self.noise = self.rng.uniform(*NOISE)

    def read(self, configuration: Mapping[str, Any]) -> float:
        """The mean of a whole window."""
        self.clock_s += BEFORE_S + WINDOW_S
        mean = self.surface.speed(configuration) * math.exp(self.noise * self.rng.gauss(0.0, 1.0))
        if self.clock_s > self.slow_from_s:
            mean *= SLOWED
        return mean * (self.rng.uniform(*STALL) if self.rng.random() < self.surface.stalls(configuration) else 1.0)

    def trial(self, configuration: Configuration, must_reach: float | None) -> Observation:
        """A trial of the search, which its agent may end early."""
        whole = self.read(configuration)
        if must_reach is None:
            return Observation(configuration, {QPS.metric: whole})
        parts, level = self._parts(whole), Level(QPS.metric, QPS.goal, must_reach)
        for count in range(1, len(parts)):
            bound = ended(parts[:count], len(parts), level)
            if bound is not None:
                self.clock_s -= (len(parts) - count) * SLICE_S
                return Observation(configuration, {}, bounds={QPS.metric: bound})
        return Observation(configuration, {QPS.metric: whole})

    def _parts(self, mean: float) -> list[float]:
        rates = [math.exp(0.1 * self.rng.gauss(0.0, 1.0)) for _ in range(WINDOW_S // SLICE_S)]
        return [mean * rate * len(rates) / sum(rates) for rate in rates]


@dataclass(frozen=True)
class Case:
    """`right` says whether a configuration may be handed over; `slows`: the server slows down half-way."""

    title: str
    surface: Callable[[Random], Surface]
    right: Callable[[Surface, Configuration], bool]
    slows: bool = False


def nothing(_rng: Random) -> Surface:
    knobs = [*(Knob(f"size_{i}", Number(1, 1000, log=True)) for i in range(6)), Knob("kind", Choice(("a", "b", "c")))]
    middle = {**{k.name: 30.0 for k in knobs[:-1]}, "kind": "a"}
    start = Configuration({**middle, "size_0": 300.0, "size_1": 300.0, "kind": "b"})
    return Surface(KnobSpace(knobs), Configuration(middle), lambda _: 1000.0, starts=(start,))


def two(rng: Random) -> Surface:
    """The new one is 10–30 % better or worse than the old one."""
    return _of_two(rng.choice((1, -1)) * math.log1p(rng.uniform(*DIFFERENCE)))


def stalling(rng: Random) -> Surface:
    """The new one is 10–30 % better, but every fourth of its windows stalls."""
    found = _of_two(math.log1p(rng.uniform(*DIFFERENCE)))
    return replace(found, stalls=lambda c: 0.25 if c["plan"] == "new" else 0.0)


def _of_two(ahead: float) -> Surface:
    space = KnobSpace([Knob("plan", Choice(("old", "new")))])
    return Surface(space, Configuration(OLD), lambda c: 1000.0 * math.exp(ahead if c["plan"] == "new" else 0.0))


def hills(rng: Random) -> Surface:
    """Eight settings, of which three matter: together 20–80 %."""
    knobs = [Knob(f"size_{i}", Number(0.0, 1.0)) for i in range(8)]
    tops = [rng.uniform(0.5, 1.0) for _ in range(3)]
    heights = [rng.uniform(0.07, 0.2) for _ in range(3)]

    def speed(c: Mapping[str, Any]) -> float:
        off = (h * (float(c[k.name]) / t - 1) ** 2 for k, t, h in zip(knobs, tops, heights, strict=False))
        return 1000.0 * math.exp(sum(heights) - sum(off))

    default = Configuration({k.name: 0.1 for k in knobs})
    start = default.replace({"size_0": 0.6, "size_5": 0.6})
    return Surface(KnobSpace(knobs), default, speed, starts=(start,))


def stalling_hills(rng: Random) -> Surface:
    """The same; where the fourth setting is high every fourth window stalls."""
    found = hills(rng)
    return replace(found, stalls=lambda c: 0.25 if float(c["size_3"]) > 0.5 else 0.0)


def is_default(surface: Surface, chosen: Configuration) -> bool:
    return chosen == surface.default


def is_better(surface: Surface, chosen: Configuration) -> bool:
    """The faster one of two; of many one that is faster than the default and does not stall."""
    sound = [c for c in (Configuration(OLD), Configuration(NEW)) if set(surface.space.names) == {"plan"}]
    if sound:
        return chosen == max((c for c in sound if not surface.stalls(c)), key=surface.speed)
    return not surface.stalls(chosen) and surface.speed(chosen) > surface.speed(surface.default)


CASES = (
    Case("nothing matters", nothing, is_default),
    Case("nothing matters, slower by a third half-way", nothing, is_default, slows=True),
    Case("two known, slower by a third half-way", two, is_better, slows=True),
    Case("two known, every fourth window of the faster one stalls", stalling, is_better),
    Case("three of eight settings matter", hills, is_better),
    Case("the same, slower by a third half-way", hills, is_better, slows=True),
    Case("the same, a fourth setting makes every fourth window stall", stalling_hills, is_better),
)


def session(case: Case, trials: int, rounds: int, seed: str) -> tuple[bool, End, float]:
    """Whether the right one was handed over, the session's end, and its hours."""
    rng = Random(seed)
    surface = case.surface(rng)
    planned = (trials + ROUNDS) * (BEFORE_S + WINDOW_S)
    host = Host(surface, planned / 2 if case.slows else math.inf, rng)
    history = searched(host, trials, [*seed.encode()])
    best = fit(history, rng=np.random.default_rng([*seed.encode(), 0])).best(surface.default).configuration
    contest = measured(finals(surface, history, best, rounds), lambda f: host.read(f.configuration))
    hours = host.clock_s / 3600
    later = {f.name: [host.read(f.configuration) for _ in range(LATER_ROUNDS)] for f in contest.finalists}
    end = told_of(contest, later)
    return case.right(surface, Configuration(contest.by_name[end.handed_over].configuration)), end, hours


def searched(host: Host, trials: int, entropy: list[int]) -> History:
    """The session's trials."""
    surface, seen = host.surface, list[Observation]()
    history = History(surface.space, QPS, current=surface.default, baseline=surface.default, warm_starts=surface.starts)
    for number in range(trials):
        advice = fit(history, rng=np.random.default_rng([*entropy, number, 1])).recommend()
        seen.append(host.trial(advice.configuration, advice.abandon_below))
        history = replace(history, observations=tuple(seen))
    return history


def finals(surface: Surface, history: History, best: Configuration, rounds: int) -> Contest:
    """The finalists as a session has them: each another configuration, the rule-based start where it ran."""
    ran = {o.configuration for o in history.completed}
    starts = [s for s in surface.starts if s in ran]
    named: list[tuple[FinalistName, Configuration]] = [("baseline", surface.default)]
    named += [("rule_based", s) for s in starts[:1]]
    named += [("best", best)]
    distinct = {c: Finalist(n, c) for n, c in reversed(named)}
    return Contest(QPS, (), tuple(distinct.values()), rounds)


@click.command()
@click.option("--sessions", default=20, show_default=True, help="Of each case.")
@click.option("--trials", default=14, show_default=True, help="Of each session, before its verification.")
@click.option("--rounds", default=ROUNDS, show_default=True, help="At most, in each verification.")
@click.option("--seed", default=1, show_default=True)
def main(sessions: int, trials: int, rounds: int, seed: int) -> None:
    """Whole sessions with the real recommender and the real end, on simulated servers in simulated time.

    `right` counts the sessions that handed over what they may, `gain reported` those that handed over another
    configuration than the baseline, `hours` is their mean on the server's clock, and `held` counts the reported 90 %
    intervals that held the mean gain of three later rounds.
    """
    click.echo("| case | sessions | right | gain reported | hours | held |\n|---|---:|---:|---:|---:|---:|")
    for number, case in enumerate(CASES):
        found = [session(case, trials, rounds, f"{seed}/{number}/{i}") for i in range(sessions)]
        held = [g.low <= e.later[n] <= g.high for _, e, _ in found for n, g in e.told.items()]
        told = sum(e.handed_over != "baseline" for _, e, _ in found)
        hours = sum(h for *_, h in found) / sessions
        row = f"{sum(r for r, *_ in found)} | {told} | {hours:.2f} | {sum(held)} of {len(held)}"
        click.echo(f"| {case.title} | {sessions} | {row} |")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks verification.sessions")
