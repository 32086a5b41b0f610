"""What settings did: over the memory's workloads, and in one refitted model.

Shapes: g places of a setting, r rows that are averaged over.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from lutra_client.schemas import EffectAnswer, LessonAnswer, WorkloadAnswer
from lutra_models.knobs import Knob, Number, Value

from lutra_notebooks.fleet import labels

if TYPE_CHECKING:
    from lutra_models.gp import Model

AVERAGED = 12
PLACES = 5
ENDS = ("median", "low", "high")
ENDS_AT = 1.645
"""Deviations from a belief's middle to the ends of its 90 % interval."""


def effects(found: Sequence[WorkloadAnswer]) -> pd.DataFrame:
    """A row a workload and setting: by how many percent the metric is better at the `best` of the values that serve
    such a server than at the `baseline` (`gain`), the 90 % interval of that (`low`, `high`), whether the effect is
    `certain`, and whether it is certain and for the better (`sure`).

    In the unit of the metric where it was not compared by ratios (`relative` is false).
    """
    names = labels(found)
    rows = [
        {"workload": names[w["id"]], "engine": w["engine"], "metric": w["metric"], **_effect(lesson, effect)}
        for w in found
        if (lesson := w["lessons"].get(w["metric"])) is not None
        for effect in lesson["effects"]
    ]
    gained = ["setting", "gain", "low", "high", "certain", "sure", "baseline", "best", "relative"]
    table = pd.DataFrame(rows, columns=["workload", "engine", "metric", *gained])
    return table.astype({"certain": bool, "sure": bool, "relative": bool})


def _effect(lesson: LessonAnswer, effect: EffectAnswer) -> dict[str, object]:
    return {
        "setting": effect["setting"],
        **{name: float(_shown(effect[name], lesson["log"])) for name in ("gain", "low", "high")},
        "certain": effect["certain"],
        "sure": effect["certain"] and effect["low"] > 0,
        "baseline": str(effect["baseline"]),
        "best": str(effect["best"]),
        "relative": lesson["log"],
    }


def _shown(value: float | np.ndarray, log: bool) -> float | np.ndarray:
    """Percent of a difference of logarithms; else as it is."""
    return 100.0 * np.expm1(value) if log else value


def importance(table: pd.DataFrame) -> pd.DataFrame:
    """A row a setting of an engine, the one first from which the most was gained: the `mean` gain in percent over the
    workloads that varied it, averaged on the logarithm, in how many of them it was `sure`, and in how many it was
    `varied`. A gain that is not sure counts as none; it decides the order of settings with equal means."""
    shown = table[table.relative]
    logs = np.log1p(shown.gain / 100)
    grouped = shown.assign(log=logs.where(shown.sure, 0.0), guess=logs).groupby(["engine", "setting"])
    found = grouped.agg(
        mean=("log", "mean"), guess=("guess", "mean"), sure=("sure", "sum"), varied=("workload", "nunique")
    )
    ranked = found.sort_values(["mean", "guess"], ascending=False)
    return ranked.assign(mean=100 * np.expm1(ranked["mean"])).drop(columns="guess")


def telling(table: pd.DataFrame, most: int = 12) -> set[str]:
    """Of each engine up to so many workloads: those with the most sure effects, and of these the newest."""
    counted = table.groupby(["engine", "workload"], sort=False).sure.sum().reset_index()
    ranked = counted.sort_values("sure", ascending=False, kind="stable").groupby("engine").head(most)
    return set(ranked.workload)


def curves(found: Sequence[WorkloadAnswer], engine: str, settings: Sequence[str]) -> pd.DataFrame:
    """A row a workload, setting and value of it: by how many percent the objective is better there than at the baseline
    (`gain`) with its 90 % interval (`low`, `high`), whether the value is the `baseline`, whether it is `special`, and
    whether it `serves` such a server. Options are special ones, each."""
    names = labels(found)
    rows = []
    for w in (w for w in found if w["engine"] == engine):
        lesson = w["lessons"].get(w["metric"])
        for effect in lesson["effects"] if lesson is not None and lesson["log"] else ():
            if effect["setting"] in settings:
                rows += [{"workload": names[w["id"]], "metric": w["metric"], **row} for row in _curve(effect)]
    columns = ["workload", "metric", "setting", "value", "gain", "low", "high", "log", "baseline", "special", "serves"]
    table, place = pd.DataFrame(rows, columns=columns), {name: i for i, name in enumerate(settings)}
    return table.sort_values("setting", key=lambda names: names.map(place), kind="stable", ignore_index=True)


def _curve(effect: EffectAnswer) -> list[dict[str, object]]:
    line = 0 if effect["choice"] else len(effect["values"]) - effect["special"]
    low, high = effect.get("serves") or (-np.inf, np.inf)
    told = zip(effect["values"], effect["gains"], effect["deviations"], strict=True)
    return [
        {
            "setting": effect["setting"],
            "value": value,
            "gain": 100 * np.expm1(gain),
            "low": 100 * np.expm1(gain - ENDS_AT * deviation),
            "high": 100 * np.expm1(gain + ENDS_AT * deviation),
            "log": effect["log"],
            "baseline": value == effect["baseline"],
            "special": place >= line,
            "serves": place >= line or value == effect["baseline"] or low <= float(value) <= high,
        }
        for place, (value, gain, deviation) in enumerate(told)
    ]


def values(knob: Knob, steps: int) -> list[Value]:
    """Values of a setting's range, evenly in its own scale, and its special ones; of a choice its options."""
    domain = knob.domain
    if not isinstance(domain, Number):
        return list(domain.options)
    spaced = np.geomspace if domain.log else np.linspace
    return sorted({domain.clip(float(v)) for v in spaced(domain.low, domain.high, steps)} | set(domain.special))


def slices(model: Model, names: Sequence[str], steps: int = 25) -> pd.DataFrame:
    """A row a setting and value: the objective (`median`, `low`, `high` of a reading) where that setting alone moves
    from the best configuration by posterior."""
    metric, best = model.history.objective.metric, model.best().configuration
    frames = []
    for name in names:
        grid = values(model.history.space[name], steps)
        told = model.predict(pd.DataFrame([best.replace({name: v}) for v in grid]))
        ends = {end: told[f"{metric}.{end}"] for end in ENDS}
        frames.append(pd.DataFrame({"setting": name, "value": grid, **ends}))
    return pd.concat(frames, ignore_index=True)


def interactions(model: Model, names: Sequence[str]) -> pd.DataFrame:
    """A row a pair of settings, the strongest first: the share of their joint effect that the sum of both alone does
    not explain, from 0 (each acts for itself).

    Friedman and Popescu's H² (Annals of Applied Statistics 2008, section 8.1) of a surface's `effect`. `joint` is the
    joint effect's deviation, in percent.
    """
    rows = [{"one": a, "other": b, **_interaction(model, a, b)} for a, b in combinations(names, 2)]
    table = pd.DataFrame(rows, columns=["one", "other", "share", "joint"])
    return table.sort_values("share", ascending=False, ignore_index=True)


def _interaction(model: Model, one: str, other: str) -> dict[str, float]:
    joint = surface(model, one, other, PLACES).pivot_table(index=one, columns=other, values="effect", observed=True)
    table = joint.to_numpy()
    table = table - table.mean()
    left = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0, keepdims=True)
    whole = float(np.sum(table**2))
    return {"share": float(np.sum(left**2)) / max(whole, 1e-12), "joint": 100 * float(np.sqrt(np.mean(table**2)))}


def surface(model: Model, one: str, other: str, steps: int = 9) -> pd.DataFrame:
    """A row a pair of values of two settings: the objective's median (`median`), averaged over up to 12 measured
    configurations in which both were set to these values, and its `effect`: the logarithm where it is positive
    everywhere, else the share of its mean size."""
    metric, history = model.history.objective.metric, model.history
    measured = [o.configuration for o in history.completed]
    kept = [measured[i] for i in np.unique(np.linspace(0, len(measured) - 1, AVERAGED).round().astype(int))]
    grid = [(a, b) for a in values(history.space[one], steps) for b in values(history.space[other], steps)]
    rows = [c.replace({one: a, other: b}) for a, b in grid for c in kept]
    told = model.predict(pd.DataFrame(rows))[f"{metric}.median"].to_numpy().reshape(len(grid), len(kept))
    effect = (np.log(told) if np.all(told > 0) else told / max(float(np.abs(told).mean()), 1e-12)).mean(axis=1)
    named = {one: [a for a, _ in grid], other: [b for _, b in grid]}
    return pd.DataFrame({**named, "median": told.mean(axis=1), "effect": effect})
