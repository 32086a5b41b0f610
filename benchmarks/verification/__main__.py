"""The verification at a session's end, on simulated servers whose true speeds are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import click
from lutra_models.verification import ROUNDS, FinalistName

from benchmarks.verification.servers import DIFFERENCE, End, Server, Weather, verified

Speeds = Callable[[Random], dict[FinalistName, float]]


def same_three(_rng: Random) -> dict[FinalistName, float]:
    return {"best": 100.0, "rule_based": 100.0, "baseline": 100.0}


def same_two(_rng: Random) -> dict[FinalistName, float]:
    return {"best": 100.0, "baseline": 100.0}


def better(rng: Random) -> dict[FinalistName, float]:
    return {"best": 100.0 * (1 + rng.uniform(*DIFFERENCE)), "baseline": 100.0}


def worse(rng: Random) -> dict[FinalistName, float]:
    return {"best": 100.0, "baseline": 100.0 * (1 + rng.uniform(*DIFFERENCE))}


def rules_ahead(rng: Random) -> dict[FinalistName, float]:
    rules = 100.0 * (1 + rng.uniform(*DIFFERENCE))
    return {"best": rules, "rule_based": rules, "baseline": 100.0}


FAIR = Weather()


@dataclass(frozen=True)
class Case:
    """`right` is what a session has to hand over."""

    title: str
    speeds: Speeds
    right: FinalistName
    weather: Weather = FAIR
    breaks: dict[FinalistName, float] = field(default_factory=dict)


STALLS, HEAVY, SLOWED = Weather(stalls=0.05), Weather(tails=True), Weather(slows=True)
CASES = (
    Case("three alike", same_three, "baseline"),
    Case("three alike, heavy tails", same_three, "baseline", HEAVY),
    Case("three alike, one reading in 20 stalls", same_three, "baseline", STALLS),
    Case("three alike, slowed by a third and back", same_three, "baseline", SLOWED),
    Case("three alike, each reading 2 % below the one before", same_three, "baseline", Weather(trend=0.02)),
    Case("two alike", same_two, "baseline"),
    Case("two alike, slowed by a third and back", same_two, "baseline", SLOWED),
    Case("10–30 % better", better, "best"),
    Case("10–30 % better, heavy tails", better, "best", HEAVY),
    Case("10–30 % better, one reading in 20 stalls", better, "best", STALLS),
    Case("10–30 % better, slowed by a third and back", better, "best", SLOWED),
    Case("10–30 % better, each reading 2 % below the one before", better, "best", Weather(trend=0.02)),
    Case("10–30 % worse, slowed by a third and back", worse, "baseline", SLOWED),
    Case("rules 10–30 % ahead, the best like them", rules_ahead, "rule_based"),
    Case("10–30 % better, but every fourth reading stalls", better, "baseline", breaks={"best": 0.25}),
)


@click.command()
@click.option("--sessions", default=400, show_default=True, help="Of each case.")
@click.option("--rounds", default=ROUNDS, show_default=True, help="At most, in each session.")
@click.option("--seed", default=1, show_default=True)
def main(sessions: int, rounds: int, seed: int) -> None:
    """How often a verification hands over the right configuration, and how true the gains are that it reports.

    Each session's noise is drawn from 5–15 % of a reading. `right` is the share of sessions that handed over what they
    had to, `gain reported` the share that handed over another configuration than the baseline, `readings` the mean over
    sessions, and `held` the share of reported 90 % intervals that held the mean gain of three later rounds.
    """
    click.echo("| case | right | gain reported | readings | held |\n|---|---:|---:|---:|---:|")
    for number, case in enumerate(CASES):
        ends = [ended(case, Random(f"{seed}/{number}/{i}"), rounds) for i in range(sessions)]
        click.echo(f"| {case.title} | {' | '.join(figures(case, ends))} |")


def ended(case: Case, rng: Random, rounds: int) -> End:
    return verified(Server(case.speeds(rng), case.weather, case.breaks, rng), rounds)


def figures(case: Case, ends: list[End]) -> list[str]:
    count = len(ends)
    right = sum(e.handed_over == case.right for e in ends) / count
    told = sum(e.handed_over != "baseline" for e in ends) / count
    held = [gain.low <= e.later[n] <= gain.high for e in ends for n, gain in e.told.items()]
    share = f"{sum(held) / len(held):.1%} of {len(held)}" if held else ""
    return [f"{right:.1%}", f"{told:.1%}", f"{sum(e.readings for e in ends) / count:.1f}", share]


if __name__ == "__main__":
    main(prog_name="python -m benchmarks verification")
