"""Charts of what settings do."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd
from lutra_models.knobs import Knob, Number


def side_by_side(panels: list[alt.LayerChart]) -> alt.Chart:
    return alt.hconcat(*panels).resolve_scale(color="independent")


def strengths(effects: pd.DataFrame, engine: str, most: int = 15) -> alt.LayerChart:
    """Settings by workloads: the darker, the more was gained over the baseline; a dot where that is certain."""
    table = effects[(effects.engine == engine) & effects.relative]
    logs = np.log1p(table.gain / 100).where(table.sure, 0.0)
    order = logs.groupby(table.setting).mean().sort_values(ascending=False).index[:most].tolist()
    chart = alt.Chart(table[table.setting.isin(order)])
    x = alt.X("workload:N", title=None).axis(labelAngle=-40, labelLimit=160, orient="top", labelAlign="left")
    y = alt.Y("setting:N", title=None, sort=order).axis(labelLimit=220)
    colour = alt.Color("gain:Q", title="gain (%)").scale(scheme="oranges", type="sqrt", domainMin=0)
    ends = [alt.Tooltip(name, format=".1f") for name in ("gain", "low", "high")]
    squares = chart.mark_rect().encode(
        x=x, y=y, color=colour, tooltip=["workload", "setting", "baseline", "best", *ends]
    )
    sure = chart.transform_filter(alt.datum.sure).mark_circle(color="black", size=45).encode(x=x, y=y)
    return (squares + sure).properties(width=alt.Step(58), height=alt.Step(22), title=engine)


def curves(table: pd.DataFrame, units: dict[str, str] | None = None) -> alt.Chart:
    """A panel a setting, a line a workload: the gain over the baseline with the belief's 90 % band. A square is a
    special value, a ring the baseline."""
    named = units or {}
    order = list(dict.fromkeys(table.setting))
    panels = [_curves_of(table[table.setting == name], name, named.get(name, "")) for name in order]
    return alt.concat(*panels, columns=2).resolve_scale(color="shared")


def _curves_of(table: pd.DataFrame, name: str, unit: str) -> alt.LayerChart:
    """Values that serve no such server are left out. A special value stands left of the line, where an axis of
    logarithms has no place for it."""
    table = table[table.serves]
    line = table[~table.special]
    log = bool(table["log"].iloc[0]) and bool((line.value > 0).all())
    low, high = (line.value.min(), line.value.max()) if len(line) else (1.0, 1.0)
    left = low / max(high / low, 2.0) ** 0.08 if log else None
    table = table.assign(place=table.value.where(table.value > 0, left) if log else table.value)
    scale = alt.Scale(type="log" if log else "linear", nice=False)
    x = alt.X("place:Q", title=f"{name} ({unit})" if unit else name, scale=scale).axis(tickCount=4, format="~s")
    colour = alt.Color("workload:N", title="workload").legend(
        orient="bottom", columns=3, labelLimit=160, symbolOpacity=1
    )
    y = alt.Y("low:Q", title="gain over the baseline (%)", scale=_whole(table))
    gain = alt.Y("gain:Q")
    tooltip = ["workload", "value", *(alt.Tooltip(end, format=".1f") for end in ("gain", "low", "high"))]
    on_line = alt.Chart(table[~table.special])
    band = on_line.mark_area(opacity=0.15).encode(x=x, y=y, y2="high:Q", color=colour)
    curve = on_line.mark_line().encode(x=x, y=gain, color=colour)
    special = alt.Chart(table[table.special]).mark_rule().encode(x=x, y=y, y2="high:Q", color=colour)
    points = (
        alt.Chart(table)
        .mark_point(filled=True, size=45)
        .encode(
            x=x,
            y=gain,
            color=colour,
            tooltip=tooltip,
            shape=alt.condition(alt.datum.special, alt.value("square"), alt.value("circle")),
        )
    )
    ring = alt.Chart(table[table.baseline]).mark_point(size=130, color="black").encode(x=x, y=gain)
    return (band + curve + special + points + ring).properties(width=300, height=180)


def _whole(table: pd.DataFrame) -> alt.Scale:
    """From the lowest to the highest end of an interval: of itself a scale sees the lower ends alone."""
    return alt.Scale(domain=[float(table.low.min()), float(table.high.max())])


def slices(table: pd.DataFrame, knobs: dict[str, Knob], metric: str) -> alt.Chart:
    """A panel a setting: the median of a reading and its 90 % interval, and the best configuration's value."""
    panels = [_slice(table[table.setting == name], knobs[name], metric) for name in dict.fromkeys(table.setting)]
    return alt.concat(*panels, columns=3)


def _slice(table: pd.DataFrame, knob: Knob, metric: str) -> alt.LayerChart:
    domain, title = knob.domain, knob.name
    if isinstance(domain, Number):
        scale = alt.Scale(type="log" if domain.log else "linear", nice=False)
        title = f"{knob.name} ({domain.unit})" if domain.unit else knob.name
        x = alt.X("value:Q", title=title, scale=scale).axis(tickCount=4, format="~s")
    else:
        x = alt.X("value:N", title=title).axis(labelAngle=0)
    chart = alt.Chart(table)
    number = isinstance(domain, Number)
    band = chart.mark_area(opacity=0.2) if number else chart.mark_rule(opacity=0.5, strokeWidth=3)
    middle = chart.mark_line() if number else chart.mark_point(filled=True, size=60)
    shown = band.encode(x=x, y=alt.Y("low:Q", title=metric, scale=_whole(table)), y2="high:Q")
    best = alt.Chart(table.head(1)).mark_rule(color="firebrick", strokeDash=[4, 4])
    at_best = best.encode(x=alt.X("best:Q" if number else "best:N", title=title))
    return (shown + middle.encode(x=x, y="median:Q") + at_best).properties(width=215, height=160)


def interactions(table: pd.DataFrame) -> alt.Chart:
    """A bar a pair of settings: the share of their joint effect that both alone do not explain."""
    shown = table.assign(pair=table.one + " × " + table.other)
    y = alt.Y("pair:N", title=None, sort=shown.pair.tolist()).axis(labelLimit=340)
    x = alt.X("share:Q", title="share of the joint effect that is interaction").axis(format="%")
    colour = alt.Color("joint:Q", title="joint effect (%)").scale(scheme="oranges", domainMin=0)
    return alt.Chart(shown).mark_bar().encode(x=x, y=y, color=colour).properties(width=340, height=alt.Step(20))


def surface(table: pd.DataFrame, one: Knob, other: Knob, metric: str) -> alt.Chart:
    """The objective over two settings at once, averaged over what was measured of the others."""
    axes = {
        side: kind(f"{knob.name}:O", title=_titled(knob), sort=None).axis(
            labelOverlap=True, format=".3~s", labelAngle=0
        )
        if isinstance(knob.domain, Number)
        else kind(f"{knob.name}:N", title=knob.name).axis(labelAngle=0)
        for side, kind, knob in (("x", alt.X, one), ("y", alt.Y, other))
    }
    if isinstance(other.domain, Number):
        axes["y"] = axes["y"].sort("descending")
    colour = alt.Color("median:Q", title=metric).scale(scheme="viridis", zero=False)
    return alt.Chart(table).mark_rect().encode(**axes, color=colour).properties(width=330, height=260)


def _titled(knob: Knob) -> str:
    unit = knob.domain.unit if isinstance(knob.domain, Number) else ""
    return f"{knob.name} ({unit})" if unit else knob.name
