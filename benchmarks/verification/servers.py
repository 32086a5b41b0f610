"""Simulated servers: configurations of known speed, read with noise, stalls and drift; and a session's end on one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from lutra_models.metrics import Objective
from lutra_models.verification import ROUNDS, Contest, Finalist, FinalistName, Gain, gains, verdict

NOISE = (0.05, 0.15)
DIFFERENCE = (0.10, 0.30)
STALL = (0.1, 0.6)
LATER_ROUNDS = 3
QPS = Objective("qps", "maximize")


@dataclass(frozen=True)
class Weather:
    """What readings suffer from, whichever configuration is active.

    `stalls` is a reading's chance to be cut to a tenth or more; `trend` what each reading loses to the one before.
    `slows` makes the server a third slower from some reading of the first twelve on, for two to sixteen readings.
    `tails` draws the noise from Student's t with three degrees of freedom.
    """

    stalls: float = 0.0
    trend: float = 0.0
    slows: bool = False
    tails: bool = False


@dataclass
class Server:
    """`speeds` is the true mean by finalist; `breaks` the chance that a finalist alone stalls, by name."""

    speeds: dict[FinalistName, float]
    weather: Weather
    breaks: dict[FinalistName, float]
    rng: Random

    def __post_init__(self) -> None:
        self.noise = self.rng.uniform(*NOISE)
        first = self.rng.randrange(12)
        self._slow = range(first, first + self.rng.randint(2, 16)) if self.weather.slows else range(0)
        self._read = 0

    def read(self, name: FinalistName) -> float:
        value = self.speeds[name] * math.exp(self.noise * self._deviate() - self.weather.trend * self._read)
        if self._read in self._slow:
            value *= 2 / 3
        if self.rng.random() < self.weather.stalls + self.breaks.get(name, 0.0):
            value *= self.rng.uniform(*STALL)
        self._read += 1
        return value

    def _deviate(self) -> float:
        normal = self.rng.gauss(0.0, 1.0)
        if not self.weather.tails:
            return normal
        return normal / math.sqrt(self.rng.gammavariate(1.5, 2.0) / 3) / math.sqrt(3)


@dataclass(frozen=True)
class End:
    """What a session handed over, after how many readings, its gains as told, and later ones over three rounds."""

    handed_over: FinalistName
    readings: int
    told: dict[FinalistName, Gain]
    later: dict[FinalistName, float]


def measured(contest: Contest, read: Callable[[Finalist], float]) -> Contest:
    """The contest once its verdict stands, each turn read by `read`."""
    while (turn := contest.turn()) is not None:
        value = read(contest.by_name[turn])
        finalists = (
            replace(f, readings=(*f.readings, {QPS.metric: value})) if f.name == turn else f for f in contest.finalists
        )
        contest = replace(contest, finalists=tuple(finalists))
    return contest


def told_of(contest: Contest, later: Mapping[FinalistName, Sequence[float]]) -> End:
    """How the contest ended, beside `later` readings of its finalists, which were taken in turns."""
    decided = verdict(contest)
    assert decided is not None
    told = gains(contest, decided.name)
    logs = {n: sum(map(math.log, values)) / len(values) for n, values in later.items()}
    gained = {n: math.expm1(logs[decided.name] - logs[n]) for n in told}
    return End(decided.name, sum(len(f.readings) for f in contest.finalists), told, gained)


def verified(server: Server, rounds: int = ROUNDS) -> End:
    """A session's verification on `server`, and three rounds more of its finalists once the weather is fair."""
    finalists = tuple(Finalist(n, {"setting": i}) for i, n in enumerate(server.speeds))
    contest = measured(Contest(QPS, (), finalists, rounds), lambda f: server.read(f.name))
    fair = replace(server, weather=Weather(tails=server.weather.tails), breaks={})
    fair.noise = server.noise
    return told_of(contest, {n: [fair.read(n) for _ in range(LATER_ROUNDS)] for n in server.speeds})
