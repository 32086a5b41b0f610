"""Charts of options against each other."""

from __future__ import annotations

import altair as alt
import pandas as pd

NUMBERS = {
    "log_score": "log score (more is better)",
    "regret": "regret (share; less is better)",
    "held_90": "inside the 90 % interval (wanted: 90 %)",
    "width_90": "interval's width (share; less is better)",
}


def scores(table: pd.DataFrame) -> alt.Chart:
    """A panel a number, a row a session, a point an entrant."""
    panels = []
    for name, title in NUMBERS.items():
        shown = table.dropna(subset=[name])
        chart = alt.Chart(shown).mark_point(filled=True, size=60, opacity=0.9)
        x = alt.X(f"{name}:Q", title=title)
        x = x.scale(domain=[0, 1]).axis(format="%") if name == "held_90" else x.scale(zero=False, padding=8)
        y = alt.Y("session:N", title=None).axis(labelLimit=160, grid=True)
        colour = alt.Color("entrant:N", title="options").legend(orient="bottom", labelLimit=220)
        encoded = chart.encode(x=x, y=y, yOffset="entrant:N", color=colour)
        panels.append(encoded.properties(width=250, height=alt.Step(9)))
    return alt.concat(*panels, columns=2).resolve_scale(color="shared")


def race(table: pd.DataFrame, title: str) -> alt.LayerChart:
    """By how much the best row so far misses the best of all, the mean over the seeds and their spread. Lines that lie
    on each other are told apart by their dashes."""
    chart, scale = alt.Chart(table), alt.Scale(domain=[0, float(table.missed.max())])
    x = alt.X("trial:Q", title="trials").axis(tickMinStep=1)
    colour = alt.Color("entrant:N", title="options").legend(
        orient="bottom", labelLimit=220, symbolOpacity=1, symbolType="stroke", symbolStrokeWidth=3
    )
    line = chart.mark_line(strokeWidth=3).encode(
        x=x,
        y=alt.Y("mean(missed):Q", title="missed of the best (%)"),
        color=colour,
        strokeDash=alt.StrokeDash("entrant:N").scale(range=[[1, 0], [6, 6], [2, 8], [10, 3, 2, 3]]).legend(None),
    )
    band = chart.mark_area(opacity=0.08).encode(
        x=x, y=alt.Y("min(missed):Q", title="missed of the best (%)", scale=scale), y2="max(missed):Q", color=colour
    )
    return (band + line).properties(width=420, height=240, title=title)
