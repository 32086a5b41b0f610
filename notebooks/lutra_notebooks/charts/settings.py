"""Charts of what settings do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd
from lutra_models.knobs import Knob, Number, Value

from lutra_notebooks.charts.axes import INSIDE, QUIET, Along, ends, framed, marked, panel, rule
from lutra_notebooks.settings import importance

GAIN = "gain over the initial value (%)"


def strengths(effects: pd.DataFrame, engines: Sequence[str], most: int = 15) -> alt.HConcatChart:
    """A panel an engine, one colour scale for all. Settings by workloads: the darker, the more was gained over the
    baseline; a dot where that is certain."""
    panels = [_strengths(_of(effects, engine), engine, most) for engine in engines]
    return alt.hconcat(*panels).resolve_scale(color="shared")


def _of(effects: pd.DataFrame, engine: str) -> pd.DataFrame:
    return effects[(effects.engine == engine) & effects.relative]


def _strengths(table: pd.DataFrame, engine: str, most: int) -> alt.LayerChart:
    order = _strongest(table, most)
    chart = alt.Chart(table[table.setting.isin(order)])
    x = alt.X("workload:N", title=None).axis(labelAngle=-40, labelLimit=160, orient="top", labelAlign="left")
    y = alt.Y("setting:N", title=None, sort=order).axis(labelLimit=220)
    colour = alt.Color("gain:Q", title="gain (%)").scale(scheme="oranges", type="sqrt", domainMin=0)
    told = [
        "workload",
        "setting",
        "baseline",
        "best",
        *(alt.Tooltip(n, format="+.1f") for n in ("gain", "low", "high")),
    ]
    squares = chart.mark_rect().encode(x=x, y=y, color=colour, tooltip=told)
    sure = chart.transform_filter(alt.datum.sure).mark_circle(color="black", size=45).encode(x=x, y=y)
    return (squares + sure).properties(width=alt.Step(58), height=alt.Step(22), title=engine)


def gains(effects: pd.DataFrame, engines: Sequence[str], most: int = 12, workloads: int = 24) -> alt.HConcatChart:
    """A panel an engine, one x axis for all; a row a setting, a point a workload: the gain over the baseline with its
    90 % interval. Of more than so many workloads, only the certain effects are drawn; if none is certain, only the
    workloads with the largest gains. An interval that is much wider than the gains is cut off."""
    found = {engine: _shown(_of(effects, engine), most, workloads) for engine in engines}
    whole = pd.concat(table for table, _ in found.values())
    scale = alt.Scale(domain=framed(whole.gain, whole.low, whole.high), nice=False)
    panels = [_gains(table, order, _of(effects, e).workload.nunique(), e, scale) for e, (table, order) in found.items()]
    return alt.hconcat(*panels).resolve_scale(color="shared", yOffset="independent")


def _shown(table: pd.DataFrame, most: int, workloads: int) -> tuple[pd.DataFrame, list[str]]:
    """The effects that are drawn, and the order of their settings."""
    order = _strongest(table, most)
    found = table[table.setting.isin(order)]
    if found.workload.nunique() <= workloads:
        return found, order
    largest = found.groupby("workload").gain.max().nlargest(workloads).index
    return found[found.certain] if found.certain.any() else found[found.workload.isin(largest)], order


def _gains(shown: pd.DataFrame, order: Sequence[str], count: int, engine: str, scale: alt.Scale) -> alt.LayerChart:
    ranked = shown.groupby("setting").gain
    place = (ranked.rank(method="first") / (ranked.transform("size") + 1)).to_numpy()
    shown = shown.assign(found=np.where(shown.certain, "certain", "uncertain"), place=place)
    y = alt.Y("setting:N", title=None, sort=list(order)).axis(labelLimit=220, grid=True)
    colour = alt.Color("found:N", title="effect").scale(domain=["certain", "uncertain"], range=[INSIDE, "#b0b0b0"])
    told = [
        "workload",
        "setting",
        "baseline",
        "best",
        *(alt.Tooltip(n, format="+.1f") for n in ("gain", "low", "high")),
    ]
    offset = alt.YOffset("place:Q", scale=alt.Scale(domain=[0, 1]))
    chart = alt.Chart(shown).encode(y=y, yOffset=offset, color=colour.legend(orient="bottom"), tooltip=told)
    nothing = alt.Chart(pd.DataFrame({"at": [0.0]})).mark_rule(color=QUIET).encode(x=alt.X("at:Q", scale=scale))
    ends_at = alt.X("low:Q", scale=scale, title=GAIN)
    bars = [
        chart.transform_filter(alt.datum.certain == certain)
        .mark_rule(strokeWidth=width, clip=True)
        .encode(x=ends_at, x2="high:Q")
        for certain, width in ((False, 0.8), (True, 1.8))
    ]
    dots = chart.mark_point(filled=True, size=40, opacity=0.9).encode(x=alt.X("gain:Q", title=GAIN, scale=scale))
    title = f"{engine}, {count} workload{'s' if count > 1 else ''}"
    return alt.layer(nothing, *bars, dots).properties(
        width=420, height=alt.Step(28, **{"for": "position"}), title=title
    )


def _strongest(table: pd.DataFrame, most: int) -> list[str]:
    return [str(name) for name in importance(table).index.get_level_values("setting")[:most]]


def curves(table: pd.DataFrame, units: Mapping[str, str], engine: str, most: int = 8) -> alt.ConcatChart:
    """A panel a setting, a line a workload, one y axis for all: the gain over the baseline, which a ring marks, with
    the belief's 90 % band, which is cut off where it is much wider than the gains. Special values and options stand
    apart; values that serve no such server are left out."""
    kept = list(dict.fromkeys(table.sort_values("gain", ascending=False).workload))[:most]
    shown = table[table.serves & table.workload.isin(kept)]
    y = alt.Y(
        "low:Q",
        title=GAIN,
        scale=alt.Scale(domain=framed(shown.gain, shown.low, shown.high), nice=False),
    )
    panels = [_curves_of(shown[shown.setting == n], y, units.get(n, "")) for n in dict.fromkeys(shown.setting)]
    found = alt.concat(*panels, columns=2).resolve_scale(color="shared", xOffset="independent")
    return found.properties(title=engine)


def _curves_of(table: pd.DataFrame, y: alt.Y, unit: str) -> alt.HConcatChart:
    below = [log and not isinstance(v, str) and v <= 0 for v, log in zip(table.value, table["log"], strict=True)]
    apart = table.special | np.array(below, dtype=bool)
    words, numbers = tuple(dict.fromkeys(table.value[apart])), pd.to_numeric(table.value[~apart])
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 0.0)
    log = bool(table["log"].any()) and low > 0
    along = Along(str(table.setting.iloc[0]), unit, low, high, log, tuple(sorted(words, key=str)))
    colour = alt.Color("workload:N", title="workload").legend(
        orient="bottom", columns=3, labelLimit=180, symbolOpacity=1
    )
    told = ["workload", "shown:N", *(alt.Tooltip(f"{n}:Q", format="+.1f") for n in ("gain", "low", "high"))]
    gain = alt.Y("gain:Q", scale=y["scale"], title=y["title"])

    def band(chart: alt.Chart, x: alt.X) -> alt.Chart:
        rules = chart.mark_rule(strokeWidth=3, opacity=0.4, clip=True)
        mark = rules if _columns(x) else chart.mark_area(opacity=0.12, clip=True)
        return mark.encode(x=x, y=y, y2="high:Q", color=colour, **_offset(x))

    def line(chart: alt.Chart, x: alt.X) -> alt.Chart:
        mark = chart.mark_point(filled=True, size=45) if _columns(x) else chart.mark_line(point=True)
        return mark.encode(x=x, y=gain, color=colour, tooltip=told, **_offset(x))

    def ring(chart: alt.Chart, x: alt.X) -> alt.Chart:
        return chart.mark_point(size=130, color="black").encode(x=x, y=gain, **_offset(x))

    parts = [(table, band), (table, line), (table[table.baseline], ring)]
    return panel(along, parts, width=280)


def _columns(x: alt.X) -> bool:
    return str(x["shorthand"]).startswith("word")


def _offset(x: alt.X) -> dict[str, str]:
    return {"xOffset": "workload:N"} if _columns(x) else {}


def slices(
    table: pd.DataFrame,
    readings: pd.DataFrame,
    knobs: Mapping[str, Knob],
    metric: str,
    before: Mapping[str, Value] | None,
    best: Mapping[str, Value],
) -> alt.ConcatChart:
    """A panel a setting, one y axis for all: the median of a reading and its 90 % interval where this setting alone
    moves from the best configuration, and the readings as points. The dashed line is the value at the beginning,
    the red line that of the best configuration."""
    y = alt.Y("low:Q", title=metric, scale=alt.Scale(domain=ends(table.low, table.high, readings.reading), nice=False))
    panels = [
        _slice(table[table.setting == n], readings[readings.setting == n], knobs[n], y, marked(n, before, best))
        for n in dict.fromkeys(table.setting)
    ]
    return alt.concat(*panels, columns=3)


def _slice(
    table: pd.DataFrame, readings: pd.DataFrame, knob: Knob, y: alt.Y, marks: Sequence[tuple[pd.DataFrame, str]]
) -> alt.HConcatChart:
    along = Along.of(knob, [*table.value, *readings.value, *(v for rows, _ in marks for v in rows.value)])

    def band(chart: alt.Chart, x: alt.X) -> alt.Chart:
        mark = chart.mark_rule(strokeWidth=6, opacity=0.25) if _columns(x) else chart.mark_area(opacity=0.2)
        return mark.encode(x=x, y=y, y2="high:Q", color=alt.value(INSIDE))

    def middle(chart: alt.Chart, x: alt.X) -> alt.Chart:
        mark = chart.mark_tick(thickness=3, size=18) if _columns(x) else chart.mark_line()
        told = ["shown:N", *(alt.Tooltip(f"{n}:Q", format=".4~g") for n in ("median", "low", "high"))]
        return mark.encode(
            x=x, y=alt.Y("median:Q", scale=y["scale"], title=y["title"]), color=alt.value(INSIDE), tooltip=told
        )

    def dots(chart: alt.Chart, x: alt.X) -> alt.Chart:
        told = ["place:Q", alt.Tooltip("reading:Q", format=".4~g")]
        at = alt.Y("reading:Q", scale=y["scale"], title=y["title"])
        return chart.mark_circle(size=22, color="black", opacity=0.45).encode(x=x, y=at, tooltip=told)

    parts = [(table, band), (table, middle), (readings.dropna(subset=["reading"]), dots)]
    return panel(along, [*((rows, rule(colour)) for rows, colour in marks), *parts])


def interactions(table: pd.DataFrame) -> alt.LayerChart:
    """A bar a pair of settings: the share of their joint effect that both alone do not explain, of the whole."""
    shown = table.assign(pair=table.one + " × " + table.other)
    y = alt.Y("pair:N", title=None, sort=shown.pair.tolist()).axis(labelLimit=340)
    x = alt.X("share:Q", title="share of the joint effect that is interaction").axis(format="%").scale(domain=[0, 1])
    colour = alt.Color("joint:Q", title="joint effect (%)").scale(scheme="oranges", domainMin=0)
    chart = alt.Chart(shown).encode(x=x, y=y)
    shares = chart.mark_text(align="left", dx=4).encode(text=alt.Text("share:Q", format=".1%"))
    return (chart.mark_bar().encode(color=colour) + shares).properties(width=340, height=alt.Step(20))


def surface(table: pd.DataFrame, readings: pd.DataFrame, one: Knob, other: Knob, metric: str) -> alt.LayerChart:
    """The objective over two settings at once, averaged over what was measured of the others; a circle tells how many
    readings are nearest to a square."""
    along = {knob.name: Along.of(knob, table[knob.name]) for knob in (one, other)}
    texts = {n: [a.text(v) for v in dict.fromkeys(table[n])] for n, a in along.items()}
    shown = table.assign(
        **{f"text{i}": [along[k.name].text(v) for v in table[k.name]] for i, k in enumerate((one, other))}
    )
    near = pd.DataFrame(
        {
            f"text{i}": [along[k.name].text(_nearest(v, table[k.name], k)) for v in readings[k.name]]
            for i, k in enumerate((one, other))
        }
    )
    counted = near.value_counts().reset_index(name="readings")
    x = alt.X("text0:N", title=one.name, sort=texts[one.name]).axis(labelAngle=-40, labelOverlap=True)
    y = alt.Y("text1:N", title=other.name, sort=texts[other.name][::-1]).axis(labelOverlap=True)
    colour = alt.Color("median:Q", title=metric).scale(scheme="viridis", zero=False)
    told = [
        alt.Tooltip("text0", title=one.name),
        alt.Tooltip("text1", title=other.name),
        alt.Tooltip("median:Q", format=".4~g"),
    ]
    squares = alt.Chart(shown).mark_rect().encode(x=x, y=y, color=colour, tooltip=told)
    counts = sorted({1, int(counted.readings.median()), int(counted.readings.max())})
    size = (
        alt.Size("readings:Q", title="readings")
        .scale(range=[20, 300], domainMin=0)
        .legend(symbolStrokeColor="#444444", values=counts, format="d")
    )
    circles = (
        alt.Chart(counted).mark_point(color="white", strokeWidth=1.5).encode(x=x, y=y, size=size, tooltip=["readings"])
    )
    return (squares + circles).properties(width=340, height=280)


def _nearest(value: Value, places: pd.Series, knob: Knob) -> Value:
    """The place of a surface that is nearest, on the setting's own scale."""
    known: list[Value] = list(dict.fromkeys(places))
    if value in known or not isinstance(knob.domain, Number) or isinstance(value, str):
        return value
    scaled = np.log if knob.domain.log else np.asarray
    line = [float(v) for v in known if v not in knob.domain.special and (not knob.domain.log or float(v) > 0)]
    return line[int(np.argmin(np.abs(scaled(np.array(line)) - scaled(float(value)))))]
