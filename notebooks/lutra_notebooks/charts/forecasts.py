"""Charts of predictions and of what was measured then."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from lutra_notebooks.charts.axes import INSIDE, MARK, OUTSIDE, QUIET, READ, decades, moments

BEYOND = "datum.value <= -4 ? '≤ -4' : datum.value >= 4 ? '≥ 4' : format(datum.value, 'd')"
ROOM = 1.15
"""Factor between the readings and the ends of a logarithmic axis."""
SHOWN = ["database", "engine", "trial", "measured", "median", "low", "high", "held"]


def against(table: pd.DataFrame) -> alt.Chart:
    """A panel a metric: what was predicted, with its interval, over what was measured; on the line it was exact.

    Both axes are logarithmic where readings are positive, so that databases of any size fit on one panel; an interval's
    lower end is then drawn at a hundredth of the median, where it is lower than that.
    """
    return alt.hconcat(*(_against(group, str(metric)) for metric, group in table.groupby("metric")))


def _against(group: pd.DataFrame, metric: str) -> alt.LayerChart:
    positive = bool((group[["measured", "median"]] > 0).all(axis=None))
    if positive:
        group = group.assign(low=np.maximum(group.low, 0.01 * group["median"]))
    ends = [float(group[["measured", "low"]].min().min()), float(group[["measured", "high"]].max().max())]
    ends = [ends[0] / ROOM, ends[1] * ROOM] if positive else ends
    scale = alt.Scale(type="log" if positive else "linear", domain=ends, nice=False)
    ticks = decades(*ends) if positive else None
    axis = alt.Axis(tickCount=5, labelExpr=READ, labelOverlap=True, gridOpacity=0.4, values=ticks or alt.Undefined)
    line = alt.Chart(pd.DataFrame({"measured": ends, "median": ends})).mark_line(color=QUIET, strokeDash=[4, 4])
    x = alt.X("measured:Q", title=f"measured {metric}", scale=scale, axis=axis)
    y = alt.Y("median:Q", title=f"predicted {metric}", scale=scale, axis=axis)
    chart = alt.Chart(group[SHOWN].assign(inside=np.where(group.held, "yes", "no")))
    bars = chart.mark_rule(opacity=0.45).encode(
        x=x, y=alt.Y("low:Q", title=f"predicted {metric}", scale=scale), y2="high"
    )
    colour = alt.Color("inside:N", title="reading inside the interval").scale(
        domain=["yes", "no"], range=[INSIDE, OUTSIDE]
    )
    dots = chart.mark_point(filled=True, size=45).encode(
        x=x,
        y=y,
        color=colour.legend(orient="bottom"),
        tooltip=[
            "database",
            "trial",
            *(alt.Tooltip(f"{n}:Q", format=".4~g") for n in ("measured", "median", "low", "high")),
        ],
    )
    return (line.encode(x=x, y=y) + bars + dots).properties(width=300, height=270)


def calibration(table: pd.DataFrame) -> alt.LayerChart:
    """The share of readings inside, over the level that was promised: above the line the intervals are too wide,
    below it too narrow."""
    percent = alt.Axis(format="%")
    x = alt.X("level:Q", title="level of the interval", axis=percent).scale(domain=[0, 1])
    y = alt.Y("held:Q", title="readings inside", axis=percent).scale(domain=[0, 1])
    line = alt.Chart(pd.DataFrame({"level": [0, 1], "held": [0, 1]})).mark_line(color=QUIET, strokeDash=[4, 4])
    colour = alt.Color("metric:N", title="metric").legend(symbolOpacity=1)
    told = ["metric", "n", *(alt.Tooltip(f"{e}:Q", format=".0%") for e in ("level", "held", "low", "high"))]
    chart = alt.Chart(table).encode(x=x, color=colour)
    band = chart.mark_area(opacity=0.12).encode(y=alt.Y("low:Q", title="readings inside"), y2="high:Q")
    shares = chart.mark_line(point=True).encode(y=y, tooltip=told)
    return (line.encode(x=x, y=y) + band + shares).properties(width=300, height=300)


def hit_rate(table: pd.DataFrame, by: str, title: str) -> alt.Chart:
    """A row a group: the share of readings inside with its 90 % interval, a panel a metric; the rule is the promise."""
    panels = [_shares(group, by, f"{title}{metric}") for metric, group in table.groupby("metric")]
    return alt.hconcat(*panels)


def _shares(group: pd.DataFrame, by: str, title: str) -> alt.LayerChart:
    chart = alt.Chart(group.assign(counted=[f"n = {n}" for n in group.n]))
    x = alt.X("held:Q", title="readings inside").axis(format="%").scale(domain=[0, 1])
    y = alt.Y(f"{by}:N", title=None).axis(labelLimit=220)
    promised = chart.mark_tick(color=MARK, thickness=2, size=22).encode(x="level:Q", y=y)
    bars = chart.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title="readings inside"), x2="high:Q", y=y)
    told = [by, "n", *(alt.Tooltip(f"{e}:Q", format=".0%") for e in ("held", "low", "high", "level"))]
    dots = chart.mark_point(filled=True, size=70).encode(x=x, y=y, tooltip=told)
    counts = chart.mark_text(align="left", dx=4, x=0, dy=-9, fontSize=10, color="#666").encode(y=y, text="counted:N")
    return (promised + bars + dots + counts).properties(width=240, height=alt.Step(38), title=title)


def over_time(table: pd.DataFrame) -> alt.Chart:
    """The share of readings inside, span by span, with its 90 % interval; the rule is the promise."""
    return alt.hconcat(*(_in_time(group, str(metric)) for metric, group in table.groupby("metric")))


def _in_time(group: pd.DataFrame, metric: str) -> alt.LayerChart:
    chart = alt.Chart(group)
    x = moments("at", "when it was predicted", group["at"])
    y = alt.Y("held:Q", title=f"{metric} inside").axis(format="%").scale(domain=[0, 1])
    told = [
        alt.Tooltip("at:T", format="%d %b %Y %H:%M"),
        "n",
        *(alt.Tooltip(f"{e}:Q", format=".0%") for e in ("held", "low", "high")),
    ]
    bars = chart.mark_rule().encode(x=x, y=alt.Y("low:Q", title=f"{metric} inside"), y2="high:Q")
    line = chart.mark_line(point=True).encode(x=x, y=y, tooltip=told)
    promised = alt.Chart(group.head(1)).mark_rule(color=MARK, strokeDash=[4, 4]).encode(y="level:Q")
    return (promised + bars + line).properties(width=320, height=180)


def surprises(table: pd.DataFrame) -> alt.LayerChart:
    """A bar for each half of a deviation: the share of readings so far from the median, with its 90 % interval; the red
    marks are what a calibrated model would show."""
    chart = alt.Chart(table)
    title = "deviations from the median (negative: below the prediction)"
    axis = alt.Axis(values=list(range(-4, 5)), labelExpr=BEYOND, grid=False)
    x = alt.X("begin:Q", title=title, axis=axis, scale=alt.Scale(domain=[-4, 4]))
    y = alt.Y("share:Q", title="share of readings").axis(format="%")
    told = ["begin", "end", *(alt.Tooltip(f"{n}:Q", format=".0%") for n in ("share", "low", "high", "promised"))]
    bars = chart.mark_bar(opacity=0.5).encode(x=x, x2="end:Q", y=y, y2=alt.datum(0), tooltip=told)
    middle = alt.X("middle:Q", title=title)
    rules = chart.mark_rule().encode(x=middle, y=alt.Y("low:Q", title="share of readings"), y2="high:Q")
    promised = chart.mark_tick(color=MARK, thickness=2, size=18, orient="horizontal").encode(x=middle, y="promised:Q")
    return (bars + rules + promised).properties(width=380, height=200, title=f"{int(table.n.iloc[0])} readings")
