"""Charts of the fleet's workloads."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from lutra_notebooks.charts.axes import READ, decades

NAMED = 24
"""Workloads of an engine up to which the map names them; of more, the mouse tells the name."""


def fleet_map(places: pd.DataFrame) -> alt.Chart:
    """A point a workload, a panel an engine; the axes say which share of the differences they keep, and have one scale:
    near on the map is near. A name is above its point, or below it where the nearest point is above."""
    panels = [_panel(group, str(engine)) for engine, group in places.groupby("engine")]
    return alt.concat(*panels, columns=2).resolve_scale(color="shared", size="shared")


def _panel(group: pd.DataFrame, engine: str) -> alt.LayerChart:
    first = group.iloc[0]
    far = 1.35 * max(float(group[["x", "y"]].abs().max().max()), 1e-9)
    plain = alt.Axis(labels=False, ticks=False, tickCount=5)
    titles = (
        f"first component ({first.x_share:.0%} of the differences)",
        f"second component ({first.y_share:.0%})",
    )
    x, y = (
        kind(f"{name}:Q", title=title, axis=plain).scale(domain=[-far, far], nice=False)
        for kind, name, title in ((alt.X, "x", titles[0]), (alt.Y, "y", titles[1]))
    )
    chart = alt.Chart(group.assign(shown=group.workload if len(group) <= NAMED else "", above=_above(group)))
    counts = sorted({int(n) for n in group.trials.quantile([0.0, 0.5, 1.0])})
    points = chart.mark_circle(opacity=0.7).encode(
        x=x,
        y=y,
        size=alt.Size("trials:Q", title="trials")
        .scale(range=[60, 320])
        .legend(orient="bottom", values=counts, format="d"),
        color=alt.Color("objective:N", title="objective").legend(orient="bottom"),
        tooltip=["workload", "objective", "trials"],
    )
    names = (
        chart.transform_filter(alt.datum.above == above).mark_text(dy=dy, limit=160).encode(x=x, y=y, text="shown:N")
        for above, dy in ((True, -15), (False, 17))
    )
    return alt.layer(points, *names).properties(width=330, height=330, title=engine)


def _above(group: pd.DataFrame) -> list[bool]:
    """Whether a point lies above the one that is nearest to it; of two in one place the first one does."""
    places = group[["x", "y"]].to_numpy()
    apart = np.linalg.norm(places[:, None] - places[None, :], axis=2)
    np.fill_diagonal(apart, np.inf)
    nearest = apart.argmin(axis=1)
    return [bool((y, -i) > (places[n][1], -n)) for i, (n, (_, y)) in enumerate(zip(nearest, places, strict=True))]


def signatures(counters: pd.DataFrame, most: int = 6) -> alt.Chart:
    """For each counter where the workloads' readings lie: from the first to the last decile, the median as a point."""
    wide = counters.pivot_table(index=["workload", "engine", "counter"], columns="percent", values="value")
    table = wide.rename(columns=lambda percent: f"p{percent}").reset_index()
    known = table.groupby("counter").workload.nunique().sort_values(ascending=False)
    panels = [_counter(table[table.counter == name], name) for name in known.index[:most]]
    return alt.concat(*panels, columns=2).resolve_scale(color="shared")


def _counter(table: pd.DataFrame, name: str) -> alt.LayerChart:
    kind = "symlog" if (table.p0 <= 0).any() else "log"
    scale = alt.Scale(type=kind, padding=10, nice=False, zero=False)
    chart = alt.Chart(table)
    y = alt.Y("workload:N", title=None).axis(labelLimit=160)
    x = alt.X("p10:Q", title=name, scale=scale).axis(
        tickCount=4,
        labelExpr=READ,
        labelOverlap=True,
        values=decades(table.p10.min(), table.p90.max()) or alt.Undefined,
    )
    color = alt.Color("engine:N", title="engine").legend(orient="bottom")
    told = ["workload", *(alt.Tooltip(f"{p}:Q", format=".4~g") for p in ("p10", "p50", "p90"))]
    bars = chart.mark_bar(height=7, opacity=0.5).encode(x=x, x2="p90:Q", y=y, color=color, tooltip=told)
    middle = chart.mark_tick(thickness=3, size=13, color="black").encode(x=alt.X("p50:Q", scale=scale), y=y)
    return (bars + middle).properties(width=280, height=alt.Step(20))


def resemblance(pairs: pd.DataFrame) -> alt.LayerChart:
    """A square a pair: the darker, the more alike in signature, level and circumstances; the number is how well the
    effects of the one rank what was measured on the other. A number that is no better than a coin is small."""
    chart = alt.Chart(pairs)
    x = alt.X("other:N", title="resembles").axis(labelAngle=-40, labelLimit=160, orient="top", labelAlign="left")
    y = alt.Y("workload:N", title="this workload").axis(labelLimit=160)
    colour = alt.Color("distance:Q", title="distance").scale(scheme="blues", reverse=True)
    squares = chart.mark_rect().encode(x=x, y=y, color=colour)
    near = alt.datum.distance < (pairs.distance.min() + pairs.distance.max()) / 2
    told = ["workload", "other", "place", *(alt.Tooltip(f"{n}:Q", format=".2f") for n in ("distance", "agreement"))]
    text = alt.Text("agreement:Q", format=".2f")
    ink = alt.when(near).then(alt.value("white")).otherwise(alt.value("black"))
    numbers = [
        chart.transform_filter(alt.datum.told == is_told)
        .mark_text(fontSize=size, fontWeight=weight, opacity=opacity)
        .encode(x=x, y=y, text=text, color=ink, tooltip=told)
        for is_told, size, weight, opacity in ((True, 12, "bold", 1.0), (False, 9, "normal", 0.75))
    ]
    return alt.layer(squares, *numbers).properties(width=alt.Step(58), height=alt.Step(30))
