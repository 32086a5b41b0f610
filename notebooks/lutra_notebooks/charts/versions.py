"""Charts of model versions side by side."""

from __future__ import annotations

import altair as alt
import pandas as pd

NUMBERS = {
    "log_score": "log score (more is better)",
    "held_90": "inside the 90 % interval (wanted: 90 %)",
    "width_90": "interval's width (share)",
    "regret": "regret (share; less is better)",
}


def scorecards(table: pd.DataFrame) -> alt.Chart:
    """A panel a number, a row a model version."""
    shown = table.reset_index()
    panels = []
    for name in NUMBERS:
        x = _axis(name)
        y = alt.Y("model:N", title=None, sort=shown.model.tolist()).axis(labelLimit=200)
        colour = alt.Color("state:N", title="state").legend(orient="bottom")
        bars = alt.Chart(shown.dropna(subset=[name])).mark_bar(height=14).encode(x=x, y=y, color=colour)
        panels.append(bars.properties(width=250, height=alt.Step(26)))
    return alt.concat(*panels, columns=2).resolve_scale(color="shared")


def shadow(table: pd.DataFrame) -> alt.Chart:
    """A panel a number: the candidate's predictions beside those of what served, over the same readings."""
    panels = []
    for name in ("log_score", "held_90", "width_90"):
        x = _axis(name)
        y = alt.Y("predicted by:N", title=None)
        colour = alt.Color("predicted by:N", title="predicted by").legend(None)
        row = alt.Row("model:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left", labelLimit=200))
        bars = alt.Chart(table).mark_bar(height=14).encode(x=x, y=y, color=colour, row=row)
        panels.append(bars.properties(width=200, height=alt.Step(22)))
    return alt.hconcat(*panels)


def _axis(name: str) -> alt.X:
    x = alt.X(f"{name}:Q", title=NUMBERS[name]).axis(tickCount=5)
    return x.axis(tickCount=5, format="%").scale(domain=[0, 1]) if name == "held_90" else x
