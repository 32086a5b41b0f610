"""The range of each option in a document that a person writes: wide, so that a bad choice can be tried and recognised.

Stored options are read without these ranges, so that a version that once served is recomputed as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from lutra_models.gp.options.reading import Room
from lutra_models.gp.options.rooms import Options


@dataclass(frozen=True)
class Within:
    """From `low` to `high`, both included; of a list each number, and at most `most` of them."""

    low: float
    high: float
    power_of_two: bool = False
    most: int = 1

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high and not (self.power_of_two and int(value) & (int(value) - 1))

    def __str__(self) -> str:
        power = "a power of two " if self.power_of_two else ""
        return f"{power}from {self.low:g} to {self.high:g}"


SHARE = Within(0, 1)
CERTAIN = Within(0.5, 0.999999)
FACTOR = Within(0.01, 1000)
SIZE = Within(1e-6, 10)
AMOUNT = Within(0, 100)
COUNT = Within(1, 10_000)
SOME = Within(2, 10_000)
GRID = Within(2, 65_536, power_of_two=True)

RANGES: Mapping[str, Mapping[str, Within]] = {
    "targets": {
        **dict.fromkeys(("lift", "prior_spread", "noise", "least_noise", "most_noise", "within_floor"), SIZE),
        **dict.fromkeys(("prior_readings", "usual_readings", "noise_factor_readings"), FACTOR),
        **dict.fromkeys(("most_noise_factor", "most_within"), Within(1, 1000)),
        "stall": AMOUNT,
        "reliable": Within(0.001, 0.5),
        "least_half": Within(0.001, 10),
    },
    "surrogate": {
        **dict.fromkeys(("broad.shift", "local.shift", "wary.shift"), Within(-10, 10)),
        **dict.fromkeys(("broad.sigma", "local.sigma", "wary.sigma"), Within(0.01, 10)),
        **dict.fromkeys(("variance_sigma", "noise_sigma"), Within(0.01, 10)),
        **dict.fromkeys(("steps", "proving_rows"), COUNT),
        "last_steps": Within(0, 1000),
        "fitted_rows": SOME,
        "boundary_noise": SIZE,
        "boundary_blur": Within(0, 10),
    },
    "drift": {
        **dict.fromkeys(("evidence", "opening"), AMOUNT),
        **dict.fromkeys(("least_rows", "most_rows"), SOME),
        "size": SIZE,
        "promise": Within(-100, 100),
        "most_changes": AMOUNT,
        "interval": COUNT,
    },
    "calibration": {
        **dict.fromkeys(("worse", "better"), Within(0.1, 100)),
        **dict.fromkeys(("worse_by_cliff", "better_by_cliff", "headroom", "early_headroom", "few_rows"), AMOUNT),
        "noise": Within(0.01, 100),
        "own_readings": Within(0.01, 1e6),
        "folded_rows": SOME,
        "folds": Within(2, 1000),
        "enough_rows": COUNT,
        "failures": Within(0.01, 10_000),
    },
    "transfer": {
        **dict.fromkeys(("least_weight", "alien", "least_skill", "strange"), SHARE),
        "slope": Within(0, 10),
        "doubt": SIZE,
        "most": AMOUNT,
        "turns": COUNT,
        "silence": Within(0.0001, 0.9999),
        **dict.fromkeys(("closeness", "context", "most_context", "other_text"), Within(0, 1000)),
        "margin": Within(0, 10),
        "outside": Within(1, 100),
        "factors": Within(1, 100),
        "most_clusters": Within(2, 1000),
        "least_rows": SOME,
    },
    "search": {
        **dict.fromkeys(("opening_candidates", "everywhere"), GRID),
        **dict.fromkeys(("opening_trials", "incumbents", "climbers", "asked", "free_knobs"), COUNT),
        **dict.fromkeys(("leading_knobs", "shuffles", "shorter_every", "stalled_after"), COUNT),
        **dict.fromkeys(("thorough.rounds", "cursory.rounds", "halvings"), Within(0, 1000)),
        **dict.fromkeys(("thorough.steps", "cursory.steps"), COUNT),
        **dict.fromkeys(("thorough.shrink", "cursory.shrink"), Within(0.01, 1)),
        **dict.fromkeys(("handover_loss", "handover_risk", "untried_stretch"), SHARE),
        **dict.fromkeys(("doubt", "luck", "least_effect"), AMOUNT),
        "near": Within(1, 65_536),
        "moves": Within(-1, 1, most=16),
        "slack": Within(0, 10),
        "contradicted": Within(0, 1000),
    },
    "start": {
        "weight": Within(0, 1000),
        "around": Within(0.0001, 10),
        "anywhere": Within(1e-6, 1),
        "moved": SHARE,
    },
    "safety": {
        **dict.fromkeys(("tolerance", "bad"), SHARE),
        "probability": CERTAIN,
        "lesson": Within(0, 10),
        "telling_knobs": Within(0, 1000),
        "prudence": Within(0, 1e6),
    },
    "live": {
        **dict.fromkeys(("least_strength", "least_gain"), SHARE),
        "probability": CERTAIN,
        "escalations": AMOUNT,
    },
}
"""The ranges by room and name. An option without a range takes a name."""


def range_of(name: str) -> Within | None:
    """The range of the option with this dotted name."""
    room, _, option = name.partition(".")
    return RANGES.get(room, {}).get(option)


def named(room: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each option in a room with its dotted name, in their order."""
    for field in fields(room):
        value = getattr(room, field.name)
        if isinstance(value, Room):
            yield from named(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", value


def faults(options: Options) -> list[str]:
    """The options out of their range, each with its name, its value and its range."""
    return [*_out_of_range(options), *_together(options)]


def _out_of_range(options: Options) -> Iterator[str]:
    for name, value in named(options):
        within = range_of(name)
        several = value if isinstance(value, tuple) else (value,)
        if within is not None and len(several) > within.most:
            yield f"{name}: must be at most {within.most} numbers, got {len(several):,}"
            continue
        for one in several:
            if within is not None and not within.holds(one):
                yield f"{name}: must be {within}, got {one:g}"


def _together(options: Options) -> Iterator[str]:
    """What is only wrong beside another one."""
    targets, drift = options.targets, options.drift
    if targets.least_noise > targets.most_noise:
        yield f"targets.least_noise: must be at most most_noise, {targets.most_noise:g}, got {targets.least_noise:g}"
    if drift.least_rows > drift.most_rows:
        yield f"drift.least_rows: must be at most most_rows, {drift.most_rows}, got {drift.least_rows}"
