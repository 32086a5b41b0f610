"""Past workloads as trends: the predictions of their posteriors for a configuration here, and their weights.

A weighted ensemble of past posteriors is the prior mean of this workload's own (Golovin et al., KDD 2017), with a
coefficient per past workload that this workload's data correct. Relative effects carry over; levels do not.
Shapes: n rows measured here, k knobs, p past workloads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.gp.fitted.trend import Trend
from lutra_models.gp.options import Transfer
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.gp.space.space_map import Bridge
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.surrogate.transforms import Transform
from lutra_models.gp.transfer import similarity
from lutra_models.history import History


def candidates(
    encoding: Encoding, metric: str, transform: Transform, past: Sequence[Snapshot], options: Transfer
) -> dict[int, Trend]:
    """By place in `past`, a trend of each workload that has the metric on the same scale and a knob in common.

    A workload whose posterior does not predict its own readings gives no trend.
    """
    out = {}
    for i, snapshot in enumerate(past):
        gp = snapshot.bare(metric)
        if gp is None or gp.transform.log != transform.log or not teaches(gp, options):
            continue
        bridge = Bridge(encoding, snapshot.encoding, snapshot.home)
        if bridge.shared:
            scale = gp.transform.scale / transform.scale if transform.log else 1.0
            out[i] = Trend(bridge, gp, scale, i)
    return out


def teaches(gp: GaussianProcess, options: Transfer) -> bool:
    """Whether the posterior, each row left out in turn, predicts more of its rows than their mean does."""
    if gp.read < options.least_rows:
        return True
    (mean, _), z = gp.left_out(), gp.z[: gp.read]
    return float(np.mean((z - mean) ** 2)) < (1.0 - options.least_skill) * float(np.var(z))


def weighed(
    trends: Sequence[Trend],
    readings: Readings,
    codes: Array,
    own: GaussianProcess,
    where: Sequence[Array],
    apart: Array,
    options: Transfer,
) -> tuple[tuple[Trend, ...], Readings]:
    """The trends that survive, centred on the rows here, and the readings with their columns.

    `codes` (n, k) of the readings' rows, `own` the posterior without any trend, `where` the places of this workload's
    counters in each past one, `apart` (p,) the distance of the circumstances.
    """
    if not trends:
        return (), readings
    said = [t.gp.latent(t.bridge.features(codes)) for t in trends]
    means, variances = np.array([m for m, _ in said]), np.array([v for _, v in said])
    gaps = np.array([_gap(readings, t.gp) for t in trends])
    before = similarity.closeness(where, gaps + apart, options)
    weights = similarity.weights(readings.z, own.noise * own.share[: own.read], means, variances, before, options)
    kept = [i for i in range(len(trends)) if weights[i] > options.least_weight]
    centres = {i: float(np.mean(trends[i].column(codes))) for i in kept}
    centred = [replace(trends[i], centre=centres[i], weight=float(weights[i])) for i in kept]
    if not centred:
        return (), readings
    columns = np.stack([t.column(codes) for t in centred], axis=1)
    w = weights[kept]
    return tuple(centred), replace(readings, trends=columns, slopes=options.slope * w, doubts=options.doubt * w)


def _gap(readings: Readings, past: GaussianProcess) -> float:
    """How far, on a logarithm, the median of the readings here lies outside the past one's."""
    here, there = readings.transform, past.transform
    if not here.log:
        return 0.0
    level = here.shift + here.scale * float(np.median(readings.z))
    seen = there.shift + there.scale * past.z[: past.read]
    return max(float(np.min(seen)) - level, level - float(np.max(seen)), 0.0)


def counters_in(history: History, past: Sequence[Snapshot], options: Transfer) -> list[Array]:
    """The position of this workload's counters among those of each past one, see `similarity.places`."""
    rows = [o.metrics for o in history.completed]
    names = set(rows[0]).intersection(*rows) if rows else set()
    here = {n: float(np.median([row[n] for row in rows])) for n in names}
    return similarity.places(here, [s.signature for s in past], options)


def circumstances_of(history: History, past: Sequence[Snapshot], options: Transfer) -> Array:
    """(p,) the distance of the context here from that of each past one, see `similarity.circumstances_apart`."""
    here = history.context or {}
    return np.array([similarity.circumstances_apart(here, s.context, options) for s in past])
