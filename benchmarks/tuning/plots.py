"""The report's plots, as SVG: score over trials with its spread over seeds, coverage, seconds per recommendation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

from benchmarks.tuning.rows import read
from benchmarks.tuning.summary import grouped, latest, race_rows

_COLOURS = alt.Scale(scheme="tableau10")


def write(results: Path, folder: Path) -> list[Path]:
    """Every plot that there are results for, in `folder`/figures."""
    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    written = []
    for name, draw in PLOTS:
        chart = draw(results)
        if chart is not None:
            written.append(figures / f"{name}.svg")
            chart.save(written[-1])
    return written


def race(results: Path) -> alt.FacetChart | None:
    rows = [r for r in race_rows(results) if r["optimiser"] != "lutra-safe"]
    points = []
    for (task, optimiser), runs in grouped(rows, "task", "optimiser").items():
        each = np.array([r["scores"] for r in runs])
        low, high = np.quantile(each, [0.1, 0.9], axis=0)
        for trial, (mean, below, above) in enumerate(zip(each.mean(axis=0), low, high, strict=True), 1):
            points.append([task, optimiser, trial, mean, below, above])
    if not points:
        return None
    frame = pd.DataFrame(points, columns=["task", "optimiser", "trial", "score", "low", "high"])
    x = alt.X("trial:Q", title="trial")
    colour = alt.Color("optimiser:N", scale=_COLOURS, title=None)
    band = (
        alt.Chart()
        .mark_area(opacity=0.08)
        .encode(
            x, alt.Y("low:Q", title="score"), alt.Y2("high:Q"), alt.Color("optimiser:N", scale=_COLOURS, legend=None)
        )
    )
    line = alt.Chart().mark_line().encode(x, alt.Y("score:Q", title="score"), colour)
    bold = alt.condition("datum.optimiser == 'lutra'", alt.value(3), alt.value(1.2))
    layers = alt.layer(band, line.encode(strokeWidth=bold), data=frame).properties(width=330, height=220)
    title = "Score over trials: mean, and 10–90 % of seeds"
    return layers.facet(alt.Facet("task:N", title=None), columns=2, title=title)


def coverage(results: Path) -> alt.FacetChart | None:
    rows = latest(read(results / "coverage.jsonl"), ("task", "design"))
    points = [
        [r["task"], f"{model}, {r['design']}", r["observations"], r[model]["held"]]
        for r in rows
        for model in ("lutra", "forest")
    ]
    if not points:
        return None
    frame = pd.DataFrame(points, columns=["task", "model", "observations", "held"])
    base = alt.Chart().encode(
        alt.X("observations:O", title="observations", axis=alt.Axis(labelAngle=0)), xOffset="model:N"
    )
    y = alt.Y("mean(held):Q", title="share held", scale=alt.Scale(domain=[0.4, 1], clamp=True, zero=False))
    dots = base.mark_point(filled=True, size=60).encode(y, alt.Color("model:N", scale=_COLOURS, title=None))
    spread = base.mark_rule().encode(
        alt.Y("min(held):Q", title="share held"), alt.Y2("max(held):Q"), alt.Color("model:N", title=None)
    )
    wanted = alt.Chart().mark_rule(strokeDash=[4, 3]).encode(y=alt.datum(0.9))
    layers = alt.layer(wanted, spread, dots, data=frame).properties(width=330, height=200)
    title = "Readings held by 90 % intervals: mean, least and most over seeds"
    return layers.facet(alt.Facet("task:N", title=None), columns=2, title=title)


def speed(results: Path) -> alt.HConcatChart | None:
    rows = latest(read(results / "speed.jsonl"), ())
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    panels = (
        ("observations", "observations (20 knobs, no past)", (frame["knobs"] == 20) & (frame["past"] == 0)),
        ("knobs", "knobs (60 observations, no past)", (frame["observations"] == 60) & (frame["past"] == 0)),
        ("past", "past workloads (60 × 20)", (frame["observations"] == 60) & (frame["knobs"] == 20)),
    )
    charts = [
        alt.Chart(frame[chosen], width=230, height=200)
        .mark_line(point=True)
        .encode(alt.X(f"{field}:Q", title=title), alt.Y("cpu_s:Q", title="processor seconds"))
        for field, title, chosen in panels
    ]
    return alt.hconcat(*charts, title="One recommendation on one core")


PLOTS: tuple[tuple[str, Callable[[Path], alt.TopLevelMixin | None]], ...] = (
    ("race", race),
    ("coverage", coverage),
    ("speed", speed),
)
