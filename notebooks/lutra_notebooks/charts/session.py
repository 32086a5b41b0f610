"""Charts of one session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd
from lutra_models.knobs import Knob, Value

from lutra_notebooks.charts.axes import INSIDE, MARK, QUIET, Along, ends, marked, panel, rule

STATES = alt.Shape("state:N", title="trial").scale(
    domain=["measured", "ended early", "failed"], range=["circle", "triangle-down", "cross"]
)
TOLD = (
    *("trial", "origin", alt.Tooltip("at:T", format="%d %b %Y %H:%M:%S", title="ended (UTC)")),
    *(alt.Tooltip(f"{name}:Q", format=".4~g") for name in ("reading", "bound", "low", "high")),
    alt.Tooltip("gain:Q", format="+.1f", title="gain over the baseline (%)"),
)


def best_so_far(table: pd.DataFrame, best: pd.DataFrame, level: float | None, metric: str) -> alt.HConcatChart:
    """The readings, and the best so far with the interval of its next reading, over trials and over minutes."""
    shown = table.assign(shown=table.reading.fillna(table.bound))
    domain = ends(shown.shown, best.low, best.high, *([] if level is None else [pd.Series([level])]))
    shown["shown"] = shown.shown.fillna(domain[0])
    began = table["at"].min()
    minutes = "minutes" if pd.isna(began) else f"minutes since {began:%d %b %Y %H:%M} UTC"
    after = len(best) > 0 and best.trial.max() > table.trial.max()
    trials = "trial; the last step was measured after the trials" if after else "trial"
    panels = [_over(shown, best, level, domain, "trial", trials, metric)]
    panels.append(_over(shown, best, level, domain, "minutes", minutes, metric))
    return alt.hconcat(*panels).resolve_scale(color="shared", shape="shared")


def _over(
    table: pd.DataFrame,
    best: pd.DataFrame,
    level: float | None,
    domain: Sequence[float],
    over: str,
    title: str,
    metric: str,
) -> alt.LayerChart:
    axis = alt.Axis(tickMinStep=1, format="d") if over == "trial" else alt.Axis(tickCount=6)
    x = alt.X(f"{over}:Q", title=title, axis=axis, scale=alt.Scale(zero=False, padding=10, nice=False))
    scale = alt.Scale(domain=list(domain), nice=False)
    colour = alt.Color("origin:N", title="proposed as", sort=table.trial.tolist()).scale(scheme="tableau10")
    layers: list[alt.Chart] = []
    if len(best):
        told = ["trial", *(alt.Tooltip(f"{end}:Q", format=".4~g") for end in ("best", "median", "low", "high"))]
        room = 0.05 * max(float(best[over].max() - table[over].min()), 1e-9)
        shown = pd.concat([best, best.tail(1).assign(**{over: best[over].max() + room})])
        chart = alt.Chart(shown).encode(x=x, tooltip=told)
        y = alt.Y("low:Q", title=metric, scale=scale)
        layers.append(chart.mark_area(opacity=0.18, color=MARK, interpolate="step-after").encode(y=y, y2="high:Q"))
        layers.append(
            chart.mark_line(color=MARK, interpolate="step-after", strokeWidth=2).encode(
                y=alt.Y("median:Q", scale=scale)
            )
        )
    if level is not None:
        rule = alt.Chart(pd.DataFrame({"level": [level], "named": ["baseline"]}))
        layers.append(rule.mark_rule(color=QUIET, strokeDash=[4, 4]).encode(y=alt.Y("level:Q", scale=scale)))
        layers.append(
            rule.mark_text(color=QUIET, align="left", dx=4, dy=10, x=0).encode(
                y=alt.Y("level:Q", scale=scale), text="named:N"
            )
        )
    y = alt.Y("shown:Q", title=metric, scale=scale)
    points = alt.Chart(table).mark_point(filled=True, size=75, opacity=0.9)
    layers.append(points.encode(x=x, y=y, color=colour, shape=STATES, tooltip=list(TOLD)))
    return alt.layer(*layers).properties(width=330, height=270)


def tried(
    table: pd.DataFrame,
    knobs: Mapping[str, Knob],
    metric: str,
    before: Mapping[str, Value] | None,
    best: Mapping[str, Value],
) -> alt.ConcatChart:
    """A panel a setting, one y axis for all: what was read at which value, the darker the later; the dashed line is the
    value before the session, the red one that of the best so far."""
    domain = ends(table.reading)
    y = alt.Y("reading:Q", title=metric, scale=alt.Scale(domain=domain, nice=False))
    panels = [
        _tried(table[table.setting == name], knobs[name], y, before, best) for name in dict.fromkeys(table.setting)
    ]
    return alt.concat(*panels, columns=3).resolve_scale(color="shared")


def _tried(
    table: pd.DataFrame, knob: Knob, y: alt.Y, before: Mapping[str, Value] | None, best: Mapping[str, Value]
) -> alt.HConcatChart:
    marks = marked(knob.name, before, best)
    along = Along.of(knob, [*table.value, *(v for rows, _ in marks for v in rows.value)])
    shown = table.assign(reading=table.reading.fillna(y["scale"]["domain"][0]))
    colour = alt.Color("place:Q", title="reading number").scale(scheme="viridis", reverse=True)
    shape = alt.Shape("failed:N", title="failed").scale(domain=[False, True], range=["circle", "cross"]).legend(None)

    def dots(chart: alt.Chart, x: alt.X) -> alt.Chart:
        told = ["place", alt.Tooltip("reading:Q", format=".4~g"), "failed"]
        return chart.mark_point(filled=True, size=55).encode(x=x, y=y, color=colour, shape=shape, tooltip=told)

    return panel(along, [*((rows, rule(colour)) for rows, colour in marks), (shown, dots)])


def cost(table: pd.DataFrame) -> alt.Chart:
    """A bar a trial: where its minutes went."""
    order = ["measuring", "change and warm-up", "computing and waiting"]
    colour = alt.Color("part:N", title=None, sort=order).scale(domain=order, range=[INSIDE, "#f58518", "#bab0ac"])
    x = alt.X("trial:O", title="trial").axis(labelAngle=0, labelOverlap=True)
    y = alt.Y("minutes:Q", title="minutes")
    told = ["trial", "origin", "state", "part", alt.Tooltip("minutes:Q", format=".2f")]
    bars = alt.Chart(table).mark_bar().encode(x=x, y=y, color=colour.legend(orient="bottom"), tooltip=told)
    return bars.properties(width=alt.Step(max(8, min(26, 700 // max(table.trial.nunique(), 1)))), height=180)


def gains(table: pd.DataFrame, metric: str) -> alt.Chart:
    """A row a pair of finalists: the gain of the one over the other with its 90 % interval; the line is no gain."""
    shown = table.assign(pair=table.finalist + " over " + table.over)
    y = alt.Y("pair:N", title=None, sort=shown.pair.tolist()).axis(labelLimit=240)
    x = alt.X("low:Q", title=f"{metric}: difference (%)")
    told = ["pair", "readings", *(alt.Tooltip(f"{end}:Q", format="+.1f") for end in ("median", "low", "high"))]
    chart = alt.Chart(shown)
    nothing = alt.Chart(pd.DataFrame({"at": [0]})).mark_rule(color=QUIET).encode(x="at:Q")
    bars = chart.mark_rule(strokeWidth=3, color=INSIDE).encode(x=x, x2="high:Q", y=y, tooltip=told)
    dots = chart.mark_point(filled=True, size=90, color=INSIDE).encode(x=alt.X("median:Q"), y=y, tooltip=told)
    return (nothing + bars + dots).properties(width=420, height=alt.Step(34))
