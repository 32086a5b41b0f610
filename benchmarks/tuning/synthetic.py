"""Histories of any size for timing: two targets over mixed knobs, some of which matter."""

from __future__ import annotations

import numpy as np
from lutra_models import Choice, Configuration, History, Knob, KnobSpace, Number, Objective, Observation

from benchmarks.tuning import cube

NOISE = 0.05
_MATTER = 6
_SHIFT = 0.5


def space(knobs: int, first: int = 0) -> KnobSpace:
    """Of every five knobs three are logarithmic integers, one a fraction and one a choice."""
    kinds = (
        Number(64, 1 << 20, log=True, integer=True),
        Number(1, 10_000, log=True, integer=True),
        Number(0.0, 1.0),
        Number(8, 65_536, log=True, integer=True),
        Choice(("on", "off", "auto")),
    )
    return KnobSpace([Knob(f"knob_{i:03d}", kinds[i % len(kinds)]) for i in range(first, first + knobs)])


def targets(unit: np.ndarray, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """(m,) p99 in milliseconds and queries per second at (m, k) points of the unit cube: smooth, with interactions."""
    telling = unit[:, :_MATTER]
    centre = 0.3 + 0.4 * np.abs(np.sin(np.arange(telling.shape[1]) + _SHIFT * shift))
    off = ((telling - centre) ** 2).sum(axis=1) + 0.5 * telling[:, 0] * telling[:, -1]
    return 20 * np.exp(off), 5_000 / (1 + off)


def history(observations: int, knobs: int, seed: int, *, first: int = 0, shift: float = 0.0) -> History:
    """That many observations of uniformly random configurations."""
    rng, over = np.random.default_rng(seed), space(knobs, first)
    matrix = cube.from_unit(over.knobs, rng.random((observations, knobs)))
    p99_ms, qps = targets(cube.to_unit(over.knobs, matrix), shift)
    noise = np.exp(NOISE * rng.standard_normal((2, observations)))
    seen = [
        Observation(configuration, {"p99_ms": p, "qps": q})
        for configuration, p, q in zip(
            cube.configurations(over.knobs, matrix), p99_ms * noise[0], qps * noise[1], strict=True
        )
    ]
    current = seen[0].configuration if seen else None
    return History(over, Objective("p99_ms", "minimize"), observations=seen, current=current)


def windows(count: int, configurations: int, knobs: int, seed: int, loads: tuple[int, ...] = (8, 32)) -> History:
    """A long history of few configurations: each window is one of them at one of the loads."""
    rng, over = np.random.default_rng(seed), space(knobs)
    matrix = cube.from_unit(over.knobs, rng.random((configurations, knobs)))
    known = cube.configurations(over.knobs, matrix)
    p99_ms, qps = targets(cube.to_unit(over.knobs, matrix))
    seen = []
    for _ in range(count):
        i, threads = int(rng.integers(configurations)), loads[int(rng.integers(len(loads)))]
        p, q = rng.standard_normal(2) * NOISE
        metrics = {"p99_ms": p99_ms[i] * threads / loads[0] * np.exp(p), "qps": qps[i] * np.exp(q)}
        seen.append(Observation(known[i], metrics, context={"threads": threads}))
    return History(
        over, Objective("p99_ms", "minimize"), observations=seen, current=known[0], context={"threads": loads[0]}
    )


def true_targets(over: KnobSpace, configurations: list[Configuration]) -> tuple[np.ndarray, np.ndarray]:
    """(m,) p99 and queries per second without noise, at the lower load."""
    knobs = over.knobs
    return targets(cube.to_unit(knobs, cube.matrix(knobs, configurations)))
