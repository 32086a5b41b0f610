"""Charts of options against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from lutra_notebooks.charts.axes import INSIDE, MARK, QUIET, VERDICTS, ends
from lutra_notebooks.racing import lines

NUMBERS = {"log_score": "difference in log score", "regret": "difference in regret (share)"}
MISSED = "difference in the gap to the optimum (% points)"


def differences(found: pd.DataFrame, judged: pd.DataFrame, first: str) -> alt.ConcatChart:
    """A panel a measure or race, a row an entrant: each session's difference from the entrant `first`, and their mean
    with its interval. To the right of the line is better, whatever is measured. Races have one x axis."""
    panels = []
    for measure in dict.fromkeys(found.measure):
        mine, means = found[found.measure == measure], judged[judged.measure == measure]
        whole = (mine, means) if measure in NUMBERS else (found, judged)
        domain = ends(whole[0].difference, whole[1].low, whole[1].high, pd.Series([0.0]))
        titles = [NUMBERS.get(measure, MISSED), f"→ better than {first}"]
        panels.append(_measure(mine, means, titles, domain).properties(title="" if measure in NUMBERS else measure))
    return alt.concat(*panels, columns=2).resolve_scale(color="shared")


def _measure(
    found: pd.DataFrame, judged: pd.DataFrame, title: Sequence[str], domain: Sequence[float]
) -> alt.LayerChart:
    order = judged.entrant.tolist()
    y = alt.Y("entrant:N", title=None, sort=order).axis(labelLimit=200)
    scale = alt.Scale(domain=list(domain), nice=False)
    x = alt.X("difference:Q", title=list(title), scale=scale).axis(tickCount=6, titleLimit=330)
    told = ["session", "entrant", alt.Tooltip("difference:Q", format="+.3f")]
    dots = alt.Chart(found).mark_tick(thickness=1.5, size=12, opacity=0.45, color=INSIDE).encode(x=x, y=y, tooltip=told)
    nothing = alt.Chart(pd.DataFrame({"at": [0.0]})).mark_rule(color=QUIET).encode(x=alt.X("at:Q", scale=scale))
    colour = alt.Color("verdict:N", title="verdict", scale=VERDICTS).legend(orient="bottom")
    means = ["entrant", "told", *(alt.Tooltip(f"{n}:Q", format="+.3f") for n in ("mean", "low", "high"))]
    chart = alt.Chart(judged).encode(y=y, color=colour, tooltip=means)
    bars = (
        chart.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=3)
        .encode(x=alt.X("low:Q", scale=scale, title=list(title)), x2="high:Q")
    )
    middle = chart.mark_point(filled=True, size=90, opacity=1).encode(x=alt.X("mean:Q", scale=scale, title=list(title)))
    return (nothing + dots + bars + middle).properties(width=330, height=alt.Step(34))


def race(tables: Mapping[str, pd.DataFrame]) -> alt.HConcatChart:
    """A panel a race, one y axis for all: by how much the best row so far misses the best of all, the mean over the
    seeds with its 90 % interval. Lines that lie on each other are told apart by their dashes."""
    found = {name: lines(table) for name, table in tables.items()}
    domain = [0.0, max(float(t.high.max()) for t in found.values())]
    return alt.hconcat(*(_race(t, name, domain) for name, t in found.items())).resolve_scale(
        color="shared", strokeDash="shared"
    )


def _race(table: pd.DataFrame, title: str, domain: list[float]) -> alt.LayerChart:
    x = alt.X("trial:Q", title="trials").axis(tickMinStep=1, format="d")
    scale = alt.Scale(domain=domain, nice=False)
    order = list(dict.fromkeys(table.entrant))
    colour = alt.Color("entrant:N", title=None, sort=order).legend(
        orient="bottom", columns=2, labelLimit=220, symbolOpacity=1, symbolType="stroke", symbolStrokeWidth=3
    )
    dashes = alt.StrokeDash("entrant:N", sort=order).scale(range=[[1, 0], [6, 6], [2, 8], [10, 3, 2, 3]]).legend(None)
    told = ["entrant", "trial", *(alt.Tooltip(f"{n}:Q", format=".1f") for n in ("missed", "low", "high"))]
    chart = alt.Chart(table).encode(x=x, color=colour, tooltip=told)
    y = "gap to the optimum (%)"
    band = chart.mark_area(opacity=0.12).encode(y=alt.Y("low:Q", title=y, scale=scale), y2="high:Q")
    line = chart.mark_line(strokeWidth=3).encode(y=alt.Y("missed:Q", title=y, scale=scale), strokeDash=dashes)
    return (band + line).properties(width=330, height=240, title=title)


def held(table: pd.DataFrame) -> alt.LayerChart:
    """The share of readings inside the 90 % intervals of each entrant, with what so many readings allow to say; the red
    mark is the promise."""
    y = alt.Y("entrant:N", title=None, sort=table.entrant.tolist()).axis(labelLimit=200)
    x = alt.X("low:Q", title="readings inside the 90 % interval").axis(format="%").scale(domain=[0, 1])
    told = ["entrant", "n", *(alt.Tooltip(f"{n}:Q", format=".1%") for n in ("held", "low", "high"))]
    chart = alt.Chart(table).encode(y=y, tooltip=told)
    promise = chart.mark_tick(color=MARK, thickness=2, size=22).encode(x="level:Q")
    bars = chart.mark_rule(strokeWidth=2, color=INSIDE).encode(x=x, x2="high:Q")
    dots = chart.mark_point(filled=True, size=80, color=INSIDE).encode(x="held:Q")
    return (promise + bars + dots).properties(width=330, height=alt.Step(34))
