"""The fleet's workloads as tables.

Shapes: w workloads, c counters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice

import numpy as np
import pandas as pd
from lutra_client import Client
from lutra_client.schemas import WorkloadAnswer

from lutra_notebooks.naming import told_apart

MOST = 2_000
"""Workloads that are read, the newest."""
COMPARED = 24
"""Workloads that are compared with each other: as many requests."""
DECILES = tuple(range(0, 101, 10))


def workloads(client: Client, most: int = MOST) -> list[WorkloadAnswer]:
    """Those that others learn from, the newest first."""
    return [w for w in islice(client.workloads.list(limit=200), most) if w["teaches"]]


def labels(found: Sequence[WorkloadAnswer]) -> dict[str, str]:
    """By id what people call a workload: its database's name, with the id's end where several have that name."""
    return told_apart({w["id"]: w["name"] for w in found})


def overview(found: Sequence[WorkloadAnswer]) -> pd.DataFrame:
    """A row a workload: what it is, and which setting moved its objective the most, if any did so for certain."""
    names = labels(found)
    rows = []
    for w in found:
        lesson = w["lessons"].get(w["metric"])
        strongest = next((e["setting"] for e in (lesson["effects"] if lesson else ()) if e["certain"]), "")
        told = {"workload": names[w["id"]], "engine": w["engine"], "objective": w["metric"]}
        rows.append({**told, "trials": w["observations"], "counters": len(w["signature"]), "strongest": strongest})
    columns = ["workload", "engine", "objective", "trials", "counters", "strongest"]
    return pd.DataFrame(rows, columns=columns).set_index("workload")


def counters(found: Sequence[WorkloadAnswer]) -> pd.DataFrame:
    """A row a workload, counter and decile (`percent`), with its `value` in the counter's unit."""
    names = labels(found)
    rows = [
        {"workload": names[w["id"]], "engine": w["engine"], "counter": name, "percent": percent, "value": value}
        for w in found
        for name, deciles in w["signature"].items()
        for percent, value in zip(DECILES, deciles, strict=True)
    ]
    return pd.DataFrame(rows, columns=["workload", "engine", "counter", "percent", "value"])


def projected(found: Sequence[WorkloadAnswer]) -> pd.DataFrame:
    """A row a workload with a signature: its place (`x`, `y`) on a map of its engine, alike ones close together. An
    engine with one workload has no map.

    Principal components of the logarithms of the counters' medians, each counter in its own deviations; `x_share` and
    `y_share` are the shares of the differences that the two axes keep. Counters that one workload alone has say
    nothing of its neighbours and are left out; one that is missing counts as the mean.
    """
    names = labels(found)
    signed = [w for w in found if w["signature"]]
    many = sorted(engine for engine, count in Counter(w["engine"] for w in signed).items() if count > 1)
    frames = [_map_of([w for w in signed if w["engine"] == engine], names, engine) for engine in many]
    columns = ["workload", "engine", "objective", "trials", "x", "y", "x_share", "y_share"]
    return pd.concat(frames, ignore_index=True)[columns] if frames else pd.DataFrame(columns=columns)


def _map_of(found: Sequence[WorkloadAnswer], names: dict[str, str], engine: str) -> pd.DataFrame:
    known = Counter(name for w in found for name in w["signature"])
    shared = sorted(name for name, count in known.items() if count > 1)
    table = np.array([[w["signature"][n][5] if n in w["signature"] else np.nan for n in shared] for w in found])
    place, shares = _components(table.reshape(len(found), len(shared)))
    return pd.DataFrame(
        {
            "workload": [names[w["id"]] for w in found],
            "engine": engine,
            "objective": [w["metric"] for w in found],
            "trials": [w["observations"] for w in found],
            "x": place[:, 0],
            "y": place[:, 1],
            "x_share": shares[0],
            "y_share": shares[1],
        }
    )


def _components(table: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """(w, 2) the first two principal components of (w, c) counters, and the share of the variance that each keeps."""
    if min(table.shape) < 1 or len(table) < 2:
        return np.zeros((len(table), 2)), (0.0, 0.0)
    spread = np.sign(table) * np.log1p(np.abs(table))
    spread = spread - np.nanmean(spread, axis=0)
    deviation = np.nanstd(spread, axis=0)
    spread = np.nan_to_num(spread / np.where(deviation > 1e-9, deviation, 1.0))
    left, sizes, _ = np.linalg.svd(spread, full_matrices=False)
    place = np.zeros((len(table), 2))
    kept = min(2, len(sizes))
    place[:, :kept] = left[:, :kept] * sizes[:kept]
    shares = np.zeros(2)
    shares[:kept] = sizes[:kept] ** 2 / max(float(np.sum(sizes**2)), 1e-12)
    return place, (float(shares[0]), float(shares[1]))


def resemblance(client: Client, found: Sequence[WorkloadAnswer], most: int = COMPARED) -> pd.DataFrame:
    """A row a pair of the newest `most` workloads, as the memory sees it from `workload`: `place` (1 is the most
    alike), `distance`, `agreement`, and whether that is `told` from tossing a coin: outside the 90 % interval of a
    rank correlation of nothing over so many readings (Kendall 1938). Pairs of strangers, of other engines and of other
    objectives are missing."""
    compared = found[:most]
    names, among = labels(found), {w["id"] for w in compared}
    rows = [
        {
            "workload": names[w["id"]],
            "other": names[like["workload"]],
            "place": place,
            "distance": like["distance"],
            "agreement": like["agreement"],
            "told": like["agreement"] is not None and abs(like["agreement"] - 0.5) > chance(w["observations"]),
        }
        for w in compared
        for place, like in enumerate(client.workloads.list_nearest(w["id"], count=64)["items"], 1)
        if like["workload"] in among
    ]
    return pd.DataFrame(rows, columns=["workload", "other", "place", "distance", "agreement", "told"])


def chance(readings: int) -> float:
    """How far from 0.5 the agreement of strangers lies at most, nine times of ten: half of Kendall's rank correlation
    of so many independent readings."""
    n = max(readings, 2)
    return float(0.5 * 1.645 * np.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1))))


def sampled(found: Sequence[WorkloadAnswer], most: int = COMPARED) -> list[WorkloadAnswer]:
    """Up to so many workloads, of each engine the newest: what fits on one figure."""
    engines = sorted({w["engine"] for w in found})
    each = max(most // max(len(engines), 1), 1)
    return [w for engine in engines for w in [x for x in found if x["engine"] == engine][:each]]
