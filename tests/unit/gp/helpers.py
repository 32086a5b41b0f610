"""Spaces, loads and histories for the recommender's tests."""

from __future__ import annotations

import math

import numpy as np
from lutra_models import Choice, Configuration, History, Knob, KnobSpace, Number, Objective, Observation

SPACE = KnobSpace(
    [
        Knob("shared_buffers", Number(16384, 4194304, unit="8kB", log=True, integer=True), applies="restart"),
        Knob("random_page_cost", Number(1.0, 8.0)),
        Knob("jit", Choice(("on", "off"))),
        Knob("wal_buffers", Number(8, 131072, unit="8kB", log=True, integer=True, special=(-1,)), applies="restart"),
        Knob("io_method", Choice(("sync", "worker", "io_uring"))),
    ]
)
DEFAULT = Configuration(
    {"shared_buffers": 16384, "random_page_cost": 4.0, "jit": "on", "wal_buffers": -1, "io_method": "worker"}
)


def measure(configuration: Configuration, rng: np.random.Generator) -> dict[str, float]:
    """A made-up server: QPS grows with memory and without JIT; p99 is the other side of it."""
    memory = math.log(float(configuration["shared_buffers"]) / 16384) / math.log(256)
    qps = 1000.0 * (1 + memory) * (1.15 if configuration["jit"] == "off" else 1.0)
    qps *= 1 - 0.02 * float(configuration["random_page_cost"])
    noise = np.exp(0.03 * rng.standard_normal(2))
    return {"qps": qps * noise[0], "p99_ms": 30_000.0 / qps * noise[1]}


def history(trials: int, seed: int = 0, **more: object) -> History:
    """Random configurations of SPACE, measured; the default first."""
    from lutra_models.gp.space.encoding import Encoding

    rng = np.random.default_rng(seed)
    encoding = Encoding(SPACE.knobs)
    drawn = [encoding.decode(c) for c in encoding.cube(rng.random((max(trials - 1, 0), len(SPACE))))]
    configurations = [DEFAULT, *drawn][:trials]
    arguments: dict = {"current": DEFAULT, **more}
    return History(
        SPACE,
        arguments.pop("objective", Objective("qps", "maximize")),
        observations=[Observation(c, measure(c, rng)) for c in configurations],
        **arguments,
    )
