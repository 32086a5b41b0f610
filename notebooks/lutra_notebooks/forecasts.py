"""What was predicted before it was measured, and what was measured then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from lutra_client import Client
from lutra_client.schemas import DatabaseAnswer

MOST = 200
"""Recommendations of a database that are read, the newest."""
NORMAL = NormalDist()
LEVELS = tuple(round(0.05 * i, 2) for i in range(1, 20))
COLUMNS = (
    *("database", "engine", "session", "trial", "model", "at", "metric"),
    *("median", "low", "high", "level", "measured", "held", "surprise", "error"),
)


def forecasts(client: Client, most: int = MOST) -> pd.DataFrame:
    """A row a metric of a recommendation that was predicted and then measured.

    `median`, `low` and `high` are in the metric's unit; `held` says whether the reading lay inside; `surprise` is how
    many deviations it lay from the median, as the interval tells them; `error` is the median's, as a share.
    """
    rows = [row for database in client.list_databases() for row in _of(client, database, most)]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"at": "datetime64[ns, UTC]", "held": bool})


def _of(client: Client, database: DatabaseAnswer, most: int) -> Iterator[dict[str, Any]]:
    for made in islice(client.list_recommendations(database["id"], limit=100), most):
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
                    "model": made["model"] or "an earlier version",
                    "at": pd.Timestamp(made["created_at"]),
                    "metric": metric,
                    **ends,
                    "measured": float(value),
                    "held": told["low"] <= value <= told["high"],
                    "surprise": _surprise(float(value), **ends),
                    "error": told["median"] / value - 1 if value else np.nan,
                }


def _surprise(measured: float, median: float, low: float, high: float, level: float) -> float:
    """How many deviations a reading lies above the median: half a normal distribution on each side, over logarithms
    where all are positive (as in `lutra_models.scores`)."""
    positive = min(low, median, measured) > 0
    lower, middle, upper, seen = np.log([low, median, high, measured]) if positive else (low, median, high, measured)
    deviation = (middle - lower if seen < middle else upper - middle) / NORMAL.inv_cdf(0.5 + level / 2)
    return float((seen - middle) / max(deviation, 1e-9))


def calibration(table: pd.DataFrame, by: Sequence[str] = ("metric",)) -> pd.DataFrame:
    """A row a level from 5 % to 95 % and group: the share of readings that lay inside an interval of this level
    (`held`), out of `n`. The intervals of other levels follow from the one that was stored, as a normal one's."""
    rows: list[dict[str, Any]] = []
    for key, group in table.groupby(list(by)):
        named = dict(zip(by, key, strict=True))
        for level in LEVELS:
            inside = group.surprise.abs() <= NORMAL.inv_cdf(0.5 + level / 2)
            rows.append({**named, "level": level, "held": float(inside.mean()), "n": len(group)})
    return pd.DataFrame(rows, columns=[*by, "level", "held", "n"])


def hit_rate(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """A row a group: how many readings were predicted (`n`), the share inside its interval (`held`) with the 90 %
    interval of that share (`low`, `high`; Wilson's), the median absolute `error` as a share, the intervals' median
    `width` as a share of the median, and the `level` that `held` should come to."""
    rows: list[dict[str, Any]] = []
    for key, group in table.groupby(list(by), sort=True):
        low, high = _wilson(int(group.held.sum()), len(group))
        width = float(((group.high - group.low) / group["median"].abs()).median())
        told = {"n": len(group), "held": float(group.held.mean()), "low": low, "high": high}
        error = float(group.error.abs().median())
        rows.append(
            {**dict(zip(by, key, strict=True)), **told, "error": error, "width": width, "level": group.level.mean()}
        )
    return pd.DataFrame(rows, columns=[*by, "n", "held", "low", "high", "error", "width", "level"])


def over_time(table: pd.DataFrame, spans: int = 10) -> pd.DataFrame:
    """`hit_rate` by metric over up to `spans` spans of time with equally many readings; `at` is a span's middle."""
    if table.empty:
        return hit_rate(table.assign(at=table["at"]), ["metric", "at"])
    frames = []
    for _, group in table.groupby("metric"):
        ordered = group.sort_values("at")
        count = max(1, min(spans, len(ordered) // 5))
        number = np.arange(len(ordered)) * count // len(ordered)
        middle = ordered.groupby(number)["at"].transform("median")
        frames.append(ordered.assign(at=middle))
    return hit_rate(pd.concat(frames), ["metric", "at"])


def _wilson(held: int, n: int, level: float = 0.9) -> tuple[float, float]:
    """The interval of a share (Wilson 1927)."""
    z = NORMAL.inv_cdf(0.5 + level / 2)
    middle, half = (held + z * z / 2) / (n + z * z), z * np.sqrt(held * (n - held) / n + z * z / 4) / (n + z * z)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))
