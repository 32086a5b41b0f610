"""What is compared: options that differ in one room, and sessions that they are compared on."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from lutra_models import History
from lutra_models.gp.options import DEFAULT, Options
from lutra_models.gp.playing import PLAYS, play
from lutra_models.gp.scoring import score_session
from lutra_models.gp.search.acquisition import Formula

from benchmarks.tuning.synthetic import history

TRIALS = 14
"""Measured in each session."""
KNOBS = (3, 4, 5)
WORLDS = 7
"""Loads that a session may be of."""

GREEDY = Formula("greedy", lambda mean, deviation, best: mean - best + 0.01 * deviation)
"""Goes where it is best by all that is known, and hardly asks what is not. It passes the conformance suite."""

QUICK = DEFAULT.using(surrogate="numpy")
SHIPPED = "shipped"
VERSIONS: dict[str, Options] = {
    SHIPPED: QUICK,
    GREEDY.name: QUICK.using(acquisition=GREEDY),
    "log_pi": QUICK.using(acquisition="log_pi"),
    "rough": QUICK.varied(**{"surrogate.wary.shift": -5.0, "surrogate.wary.sigma": 0.1}),
}
"""`rough` believes that a setting says nothing of its neighbourhood: a worse surrogate."""
IN_ACQUISITION = ("greedy", "log_pi")


def session(number: int) -> History:
    return history(TRIALS, KNOBS[number % len(KNOBS)], number, shift=number % WORLDS)


def measured(number: int, version: str) -> dict[str, Any]:
    """A session's numbers of one version, as the service's scorecard has them. An acquisition forecasts nothing."""
    of, options = session(number), VERSIONS[version]
    scored = score_session(of, (), options)["served"] if version not in IN_ACQUISITION else {}
    seed = int(of.key[:12], 16)
    runs = [play(of, (), options, "lab", seed + i) for i in range(PLAYS)] if version != "rough" else []
    known = [m for m in runs if m is not None]
    return {"log_score": scored.get("log_score"), "missed": fmean(known) if known else None}
