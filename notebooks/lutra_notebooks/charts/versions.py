"""Charts of model versions beside the champion."""

from __future__ import annotations

import altair as alt
import pandas as pd

from lutra_notebooks.charts.axes import QUIET, VERDICTS, ends

SOURCES = {
    "past sessions": "forecasts of past sessions: log score",
    "shadow": "forecasts in the shadow: log score",
    "played": "simulated sessions in a lab: gap to the optimum",
    "played live": "simulated live sessions: gap to the optimum",
}


def beside(table: pd.DataFrame) -> alt.ConcatChart:
    """A panel a source, one x axis for each measure; a row a candidate: by how much it is better than the champion,
    with the interval. To the right of the line is better. A candidate without a bar has too few sessions for any."""
    panels = []
    for source, title in SOURCES.items():
        found = table[table.source == source]
        if len(found):
            alike = table[table.measure.isin(found.measure)]
            domain = ends(alike["mean"], alike.low, alike.high, pd.Series([0.0]))
            panels.append(_source(found, title, alt.Scale(domain=domain, nice=False)))
    return alt.concat(*panels, columns=2).resolve_scale(color="shared")


def _source(table: pd.DataFrame, title: str, scale: alt.Scale) -> alt.LayerChart:
    y = alt.Y("model:N", title=None, sort=table.model.tolist()).axis(labelLimit=200)
    x = alt.X("mean:Q", title="difference → better than the champion", scale=scale).axis(tickCount=6)
    colour = alt.Color("verdict:N", title="verdict", scale=VERDICTS).legend(orient="bottom")
    told = [
        "model",
        "sessions",
        "verdict",
        "sentence",
        *(alt.Tooltip(f"{n}:Q", format="+.3f") for n in ("mean", "low", "high")),
    ]
    nothing = alt.Chart(pd.DataFrame({"at": [0.0]})).mark_rule(color=QUIET).encode(x=alt.X("at:Q", scale=scale))
    chart = alt.Chart(table).encode(y=y, color=colour, tooltip=told)
    bars = chart.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=3)
    drawn = bars.encode(x=alt.X("low:Q", scale=scale, title=x["title"]), x2="high:Q")
    dots = chart.mark_point(filled=True, size=90, opacity=1).encode(x=x)
    return (nothing + drawn + dots).properties(width=330, height=alt.Step(34), title=title)
