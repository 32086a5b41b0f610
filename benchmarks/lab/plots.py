"""The report's plots, as SVG: QPS and p99 over trials, and what was predicted against what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import altair as alt
import pandas as pd

from benchmarks.lab.session import Row, trials
from benchmarks.lab.studies import Study
from benchmarks.lab.summary import METRICS

PREDICTED = "figures/predicted.svg"
_TITLES = {"qps": "QPS", "p99_ms": "p99, ms"}
Layers: TypeAlias = alt.LayerChart | alt.FacetChart
_COLOURS = alt.Scale(scheme="tableau10")


def file_of(study: Study) -> str:
    return f"figures/{study.name}.svg"


def write(seen: Mapping[Study, Sequence[Row]], forecasts: Sequence[Row], folder: Path) -> list[Path]:
    """Every plot that there are rows for, in `folder`/figures."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    written = []
    for study, rows in seen.items():
        if trials(rows):
            written.append(folder / file_of(study))
            over_trials(study, rows).save(written[-1])
    if forecasts:
        written.append(folder / PREDICTED)
        against_measured(forecasts).save(written[-1])
    return written


def over_trials(study: Study, rows: Sequence[Row]) -> alt.HConcatChart:
    """Each trial's readings by where it came from, and the best so far of what was asked for."""
    return alt.hconcat(*(_panel(study, trials(rows), metric) for metric in _TITLES), title=study.name)


def _panel(study: Study, tried: Sequence[Row], metric: str) -> Layers:
    points = [[r["number"], r["metrics"][metric], r["origin"]] for r in tried if metric in r["metrics"]]
    frame = pd.DataFrame(points, columns=["trial", "reading", "origin"])
    y = alt.Y("reading:Q", title=_TITLES[metric], scale=_scale(metric))
    x = alt.X("trial:Q", title="trial", scale=alt.Scale(nice=False))
    dots = alt.Chart(frame).mark_point(filled=True, size=60).encode(x, y, alt.Color("origin:N", scale=_COLOURS))
    layers = [dots]
    if metric == study.objective.metric:
        best = frame["reading"].cummax() if study.objective.goal == "maximize" else frame["reading"].cummin()
        layers.append(
            alt.Chart(frame.assign(reading=best)).mark_line(interpolate="step-after", opacity=0.5).encode(x, y)
        )
    return alt.layer(*layers).properties(width=330, height=220)


def _scale(metric: str) -> alt.Scale:
    return alt.Scale(type="log", nice=False, padding=10) if metric == "p99_ms" else alt.Scale(zero=True)


def against_measured(forecasts: Sequence[Row]) -> alt.HConcatChart:
    """Medians with their 90 % intervals; on the diagonal what came true."""
    known = [name for name, metrics in METRICS.items() if any(f["metric"] in metrics for f in forecasts)]
    return alt.hconcat(*(_diagonal(forecasts, name) for name in known), title="Predicted against measured")


def _diagonal(forecasts: Sequence[Row], name: str) -> Layers:
    shown = [f for f in forecasts if f["metric"] in METRICS[name]]
    frame = pd.DataFrame(shown, columns=["session", "measured", "median", "low", "high"])
    least, most = frame["measured"].min() / 1.2, frame["measured"].max() * 1.2
    scale = alt.Scale(type="log", domain=[least, most], clamp=True, nice=False)
    frame["low"] = frame["low"].clip(lower=least)
    x = alt.X("measured:Q", title=f"{name}, measured", scale=scale)
    title = f"{name}, predicted"
    colour = alt.Color("session:N", scale=alt.Scale(scheme="tableau20"), title=None)
    base = alt.Chart(frame)
    spread = base.mark_rule(opacity=0.35).encode(x, alt.Y("low:Q", title=title, scale=scale), alt.Y2("high:Q"), colour)
    dots = base.mark_point(filled=True).encode(x, alt.Y("median:Q", title=title, scale=scale), colour)
    ends = pd.DataFrame({"measured": [least, most], "median": [least, most]})
    line = alt.Chart(ends).mark_line(strokeDash=[4, 3], color="grey").encode(x, alt.Y("median:Q", title=title))
    return alt.layer(line, spread, dots).properties(width=330, height=330)
