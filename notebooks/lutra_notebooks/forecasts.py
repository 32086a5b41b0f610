"""What was predicted before it was measured, and what was measured then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from lutra_client import Client
from lutra_client.schemas import DatabaseAnswer
from lutra_models.history import History

from lutra_notebooks.measured import shuffled
from lutra_notebooks.shares import wilson

if TYPE_CHECKING:
    from lutra_models.gp import Options

MOST = 40
"""Recommendations of a database that are read, the newest."""
DATABASES = 50
"""Databases whose recommendations are read: those that reported last."""
LEARNED = 30
"""Rows of a replayed history that are learned from, at most; as many are predicted."""
NORMAL = NormalDist()
LEVELS = tuple(round(0.05 * i, 2) for i in range(1, 20))
COLUMNS = (
    *("database", "engine", "session", "trial", "model", "at", "metric"),
    *("median", "low", "high", "level", "measured", "held", "surprise", "error"),
)


def forecasts(client: Client, most: int = MOST, databases: int = DATABASES) -> pd.DataFrame:
    """A row a metric of a recommendation that was predicted and then measured.

    `median`, `low` and `high` are in the metric's unit; `held` says whether the reading lay inside; `surprise` is how
    many deviations it lay from the median, as the interval tells them; `error` is the median's, as a share.
    """
    known = sorted(client.databases.list(), key=lambda d: d["last_report_at"] or d["created_at"], reverse=True)
    rows = [row for database in known[:databases] for row in _of(client, database, most)]
    return _table(rows)


def replayed(histories: Mapping[str, History], options: Options, seed: int = 0) -> pd.DataFrame:
    """The same of past workloads: a model of half of a history's rows, 30 at most, predicts as many others. The rows
    are picked at random; `at` is empty, as nothing was predicted at any time."""
    from lutra_models.gp import fit

    rows = []
    for name, history in histories.items():
        metric = history.objective.metric
        read = [o for o in shuffled(history, seed).completed if metric in o.metrics][: 2 * LEARNED]
        half = len(read) // 2
        learned = replace(history, observations=tuple(read[:half]), pending=())
        model = fit(learned, rng=np.random.default_rng(seed), options=options)
        for trial, (one, told) in enumerate(
            zip(read[half:], model.predict([o.configuration for o in read[half:]]), strict=True), half + 1
        ):
            known: dict[str, Any] = {
                "database": name,
                "engine": str((history.context or {}).get("engine", "")),
                "session": name,
            }
            known |= {"trial": trial, "model": "the champion, replayed", "at": pd.NaT, "metric": metric}
            prediction = told[metric]
            ends = {end: getattr(prediction, end) for end in ("median", "low", "high", "level")}
            rows.append({**known, **_judged(one.metrics[metric], ends)})
    return _table(rows)


def _table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.assign(at=pd.to_datetime(table["at"], utc=True)).astype({"held": bool})


def _of(client: Client, database: DatabaseAnswer, most: int) -> Iterator[dict[str, Any]]:
    for made in islice(client.recommendations.list(database["id"], limit=most), most):
        read = made["measured"] or {}
        for metric, told in made["predictions"].items():
            value = read.get(metric)
            if isinstance(value, int | float):
                ends = {"median": told["median"], "low": told["low"], "high": told["high"], "level": told["level"]}
                yield {
                    "database": database["name"],
                    "engine": database["engine"],
                    "session": made["session"],
                    "trial": made["trial"],
                    "model": made["model"] or "none",
                    "at": pd.Timestamp(made["created_at"]),
                    "metric": metric,
                    **_judged(float(value), ends),
                }


def _judged(value: float, ends: dict[str, float]) -> dict[str, Any]:
    held, error = ends["low"] <= value <= ends["high"], ends["median"] / value - 1 if value else np.nan
    return {**ends, "measured": value, "held": held, "surprise": _surprise(value, **ends), "error": error}


def _surprise(measured: float, median: float, low: float, high: float, level: float) -> float:
    """How many deviations a reading lies above the median: half a normal distribution on each side, over logarithms
    where all are positive (as in `lutra_models.scores`)."""
    positive = min(low, median, measured) > 0
    lower, middle, upper, seen = np.log([low, median, high, measured]) if positive else (low, median, high, measured)
    deviation = (middle - lower if seen < middle else upper - middle) / NORMAL.inv_cdf(0.5 + level / 2)
    return float((seen - middle) / max(deviation, 1e-9))


def calibration(table: pd.DataFrame, by: Sequence[str] = ("metric",)) -> pd.DataFrame:
    """A row a level from 5 % to 95 % and group: the share of readings that lay inside an interval of this level
    (`held`), with the 90 % interval of that share (`low`, `high`), out of `n`. The intervals of other levels follow
    from the one that was stored, as a normal one's."""
    rows: list[dict[str, Any]] = []
    for key, group in table.groupby(list(by)):
        named = dict(zip(by, key, strict=True))
        for level in LEVELS:
            inside = group.surprise.abs() <= NORMAL.inv_cdf(0.5 + level / 2)
            low, high = wilson(int(inside.sum()), len(group))
            ends = {"low": low, "high": high}
            rows.append({**named, "level": level, "held": float(inside.mean()), **ends, "n": len(group)})
    return pd.DataFrame(rows, columns=[*by, "level", "held", "low", "high", "n"])


def hit_rate(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """A row a group: how many readings were predicted (`n`), the share inside its interval (`held`) with the 90 %
    interval of that share (`low`, `high`; Wilson's), the median absolute `error` as a share, the intervals' median
    `width` as a share of the median, and the `level` that `held` should come to."""
    rows: list[dict[str, Any]] = []
    for key, group in table.groupby(list(by), sort=True):
        low, high = wilson(int(group.held.sum()), len(group))
        width = float(((group.high - group.low) / group["median"].abs()).median())
        told = {"n": len(group), "held": float(group.held.mean()), "low": low, "high": high}
        error = float(group.error.abs().median())
        rows.append(
            {**dict(zip(by, key, strict=True)), **told, "error": error, "width": width, "level": group.level.mean()}
        )
    return pd.DataFrame(rows, columns=[*by, "n", "held", "low", "high", "error", "width", "level"])


def surprises(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each half of a deviation from -4 to 4: the `share` of the `n` readings whose surprise lies between
    `begin` and `end`, with the 90 % interval of that share (`low`, `high`), and the share that a calibrated model has
    there (`promised`). The outer ones hold all that lies beyond them."""
    edges = np.linspace(-4, 4, 17)
    count, _ = np.histogram(table.surprise.clip(-4, 4), edges)
    below = [0.0, *(NORMAL.cdf(edge) for edge in edges[1:-1]), 1.0]
    rows = []
    for begin, end, held, promised in zip(edges, edges[1:], count, np.diff(below), strict=False):
        low, high = wilson(int(held), len(table))
        ends = {"begin": begin, "end": end, "middle": (begin + end) / 2, "low": low, "high": high}
        rows.append({**ends, "share": held / max(len(table), 1), "promised": promised, "n": len(table)})
    return pd.DataFrame(rows)


def over_time(table: pd.DataFrame, spans: int = 10) -> pd.DataFrame:
    """`hit_rate` by metric over up to `spans` spans of time with equally many readings; `at` is a span's middle."""
    timed = table[table["at"].notna()]
    if timed.empty:
        return hit_rate(timed, ["metric", "at"])
    frames = []
    for _, group in timed.groupby("metric"):
        ordered = group.sort_values("at")
        count = max(1, min(spans, len(ordered) // 5))
        number = np.arange(len(ordered)) * count // len(ordered)
        middle = ordered.groupby(number)["at"].transform("median")
        frames.append(ordered.assign(at=middle))
    return hit_rate(pd.concat(frames), ["metric", "at"])
