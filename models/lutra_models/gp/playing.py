"""A session played from its start with other options: their recommendations, and the answers of a simulated server.

The server is a function drawn from the posterior of what the session measured: it agrees with the readings where there
are some, and is as rugged as they are elsewhere. It is fitted with the shipped options, so that it favours none of the
compared ones, and drawn by the session alone, so that all of them meet the same one (Matheron's rule: Wilson et al.,
"Efficiently sampling functions from Gaussian process posteriors", ICML 2020).

A play uses the whole recommender: start, search, acquisition, safety and surrogate, with the past workloads. Shapes: m
configurations, n rows measured, d features, w waves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

import numpy as np

from lutra_models.errors import LutraError
from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.gp.kernels.covariance import Scaled
from lutra_models.gp.learning.fit import teachable
from lutra_models.gp.options import DEFAULT, Options
from lutra_models.gp.recommender import fit
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.transfer.contexts import split
from lutra_models.history import History, Observation
from lutra_models.knobs import Configuration

Way = Literal["lab", "live"]
"""In a lab any configuration may be tried, and the best of them counts. Live each one counts: clients wait for it."""

WORLD = DEFAULT.using(surrogate="numpy")
TRIALS = {"lab": 24, "live": 12}
PLAYS = 8
"""The number of servers that are drawn for each session."""
WAVES = 512
LOOKED_AT = 512
"""The number of configurations whose best and median define the possible gain."""


@dataclass(frozen=True, eq=False)
class World:
    """A simulated server. `best` and `usual` are the best of many configurations and their median, in standard units,
    more is better; a reading scatters by `noise`."""

    encoding: Encoding
    gp: GaussianProcess
    latent: Callable[[Array], Array]
    good: float
    noise: float
    best: float
    usual: float

    def worth(self, configuration: Configuration) -> float:
        """The noiseless value in standard units; more is better."""
        codes = self.encoding.codes([configuration])
        return self.good * float(self.latent(self.encoding.features(codes))[0])

    def missed(self, worth: float) -> float:
        """The loss: 0 at the best, 1 at the value of most configurations."""
        return (self.best - worth) / max(self.best - self.usual, 1e-9)

    def reading(self, worth: float, rng: np.random.Generator) -> float:
        z = self.good * worth + self.noise * float(rng.standard_normal())
        return float(self.gp.transform.backward(np.array([z]))[0])


def world(history: History, seed: int) -> World | None:
    """None if the session measured too little."""
    if not teachable(history):
        return None
    learned = fit(history, rng=np.random.default_rng(0), options=WORLD).learned
    assert learned is not None
    gp, rng = learned.searching, np.random.default_rng([seed, 1])
    latent = _drawn(gp, rng)
    encoding, good = learned.encoding, learned.sign
    cube = encoding.cube(rng.random((LOOKED_AT, len(history.space))))
    rows = encoding.snap(np.vstack([cube, encoding.codes([o.configuration for o in history.completed])]))
    worths = good * latent(encoding.features(rows))
    noise = float(np.sqrt(gp.noise))
    return World(encoding, gp, latent, good, noise, float(np.max(worths)), float(np.median(worths)))


def _drawn(gp: GaussianProcess, rng: np.random.Generator) -> Callable[[Array], Array]:
    """A function (m, d) → (m,) of the posterior: waves of the prior, and what the readings say of their error there."""
    d, near = gp.d, gp.covariance
    assert isinstance(near, Scaled)
    # Waves of a Matérn-5/2 have frequencies that are Student's t with five degrees of freedom.
    scale = np.sqrt(rng.chisquare(5.0, (WAVES, 1)) / 5.0)
    frequencies = rng.standard_normal((WAVES, d)) / scale / near.lengthscales
    phases, heights = 2.0 * np.pi * rng.random(WAVES), rng.standard_normal(WAVES)

    def prior(x: Array) -> Array:
        waves = np.cos(x[:, :d] @ frequencies.T + phases)
        return np.asarray(np.sqrt(2.0 * near.variance / WAVES) * waves @ heights)

    scatter = np.sqrt(gp.noise * gp.share) * rng.standard_normal(len(gp.z))
    error = replace(gp, z=gp.z - prior(gp.x) - scatter)
    return lambda x: prior(x) + error.latent(x)[0]


def played(history: History, past: Sequence[History | Snapshot], options: Options) -> dict[str, float | None]:
    """What sessions like `history`, played by `options` in a lab and live, miss: `play`, over some servers each.

    Each play of the same history meets the same servers.
    """
    seed = int(history.key[:12], 16)
    ways: dict[str, Way] = {"missed": "lab", "missed_live": "live"}
    runs = {n: [play(history, past, options, way, seed + i) for i in range(PLAYS)] for n, way in ways.items()}
    known = {name: [m for m in missed if m is not None] for name, missed in runs.items()}
    return {name: fmean(missed) if missed else None for name, missed in known.items()}


def play(history: History, past: Sequence[History | Snapshot], options: Options, way: Way, seed: int) -> float | None:
    """The mean loss of a session of `options` over its trials, as a share of the possible gain: 0 is the best at once.

    In a lab, of the best that was tried, recognised or not; live, of each trial. None if the session measured too
    little, or has no configuration to begin live from.
    """
    own, _ = split(history)
    server, live = world(own, seed), way == "live"
    if server is None or (live and own.current is None):
        return None
    rng, options = np.random.default_rng([seed, 2]), quick(options)
    session = replace(own, observations=(), pending=(), limits=(), evidence=None, turned_down=(), aim=None)
    rows: list[Observation] = []
    missed: list[float] = []
    best = -np.inf
    for trial in range(TRIALS[way]):
        seen = replace(session, observations=tuple(rows))
        model = fit(seen, past, rng=np.random.default_rng([seed, trial]), options=options)
        try:
            told = model.recommend(safe=live and bool(rows))
        except LutraError:
            break  # nothing is left to try
        worth = server.worth(told.configuration)
        rows.append(Observation(told.configuration, {own.objective.metric: server.reading(worth, rng)}))
        best = max(best, worth)
        missed.append(server.missed(worth if live else best))
    return fmean(missed) if missed else None


def quick(options: Options) -> Options:
    """The same options, fitted by numpy in place of GPy: the same mode in a tenth of the time."""
    return options.using(surrogate="numpy") if options.surrogate.name == "gpy" else options
