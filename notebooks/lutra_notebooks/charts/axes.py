"""What charts share: a setting's axis with its special values beside the range, a time's axis with dates, colours."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
import pandas as pd
from lutra_models.catalog.units import scale
from lutra_models.knobs import Knob, Number, Value

INSIDE, OUTSIDE, MARK, QUIET = "#4c78a8", "#e45756", "firebrick", "#888888"
VERDICTS = alt.Scale(domain=["better", "undecided", "worse"], range=["#54a24b", QUIET, OUTSIDE])
COLUMN = 30
"""Pixels of a special value's column, and of an option's."""
TICKS = 4
MEMORY = (("TB", 2.0**40), ("GB", 2.0**30), ("MB", 2.0**20), ("kB", 2.0**10), ("B", 1.0))
TIME = (("d", 864e5), ("h", 36e5), ("min", 6e4), ("s", 1e3), ("ms", 1.0))
COUNT = (("G", 1e9), ("M", 1e6), ("", 1.0))
SHORT = pd.Timedelta(minutes=10)
"""Labels of a shorter span have seconds."""
READ = "datum.value >= 1000 ? format(datum.value, '~s') : format(datum.value, '~g')"
"""How an axis writes a reading: 20k, but 0.1, not 100m."""
Draw = Callable[[alt.Chart, alt.X], alt.Chart]
"""What is drawn of rows, at an x."""


@dataclass(frozen=True)
class Along:
    """How a setting's values lie on an axis: `words` are drawn in columns, numbers from `low` to `high`."""

    name: str
    unit: str
    low: float
    high: float
    log: bool
    words: tuple[Value, ...]

    @classmethod
    def of(cls, knob: Knob, seen: Iterable[Value]) -> Along:
        """For the values that are shown: special ones, and those that a logarithm does not take, are words."""
        domain, values = knob.domain, list(dict.fromkeys(seen))
        if not isinstance(domain, Number):
            return cls(knob.name, "", 0.0, 0.0, False, tuple(o for o in domain.options if o in values))
        words = sorted(
            float(v) for v in values if isinstance(v, str) or v in domain.special or (domain.log and float(v) <= 0)
        )
        numbers = [float(v) for v in values if v not in words]
        low, high = (min(numbers), max(numbers)) if numbers else (domain.low, domain.high)
        return cls(knob.name, domain.unit, low, high, domain.log, tuple(words))

    def ticks(self) -> list[float]:
        spaced = np.geomspace if self.log else np.linspace
        if not self.low < self.high:
            return [self.low]
        domain = Number(self.low, self.high, self.unit, self.log)
        return sorted({domain.rounded(float(v)) for v in spaced(self.low, self.high, TICKS)})

    def text(self, value: Value) -> str:
        """As people read it: 1GB, not 131072; of three digits where it would be longer than that."""
        return str(value) if isinstance(value, str) else readable(value, self.unit)

    def x(self) -> alt.X:
        """The axis of the range."""
        named = " : ".join(
            f"abs(datum.value - {tick!r}) <= {1e-9 * abs(tick)!r} ? {json.dumps(self.text(tick))}"
            for tick in self.ticks()
        )
        axis = alt.Axis(values=self.ticks(), labelExpr=f"{named} : ''", labelOverlap=True, grid=True)
        kind = "log" if self.log else "linear"
        return alt.X("value:Q", title=self.name, axis=axis).scale(
            type=kind, domain=[self.low, self.high], nice=False, padding=6
        )

    def words_x(self, title: str | None) -> alt.X:
        """The axis of the columns."""
        order = [self.text(word) for word in self.words]
        return alt.X("word:N", title=title, sort=order).axis(labelAngle=0, labelLimit=90)


def panel(
    along: Along, parts: Sequence[tuple[pd.DataFrame, Draw]], width: int = 230, height: int = 170
) -> alt.HConcatChart:
    """One setting: `parts` are tables with a column `value`, and what is drawn of each. Special values have columns of
    their own to the left of the range, under the same y axis; what a part draws has to fix the y axis' domain.
    """
    shown = []
    for columns in (True, False):
        layers = [
            draw(alt.Chart(rows), along.words_x(None if _ranges(along) else along.name) if columns else along.x())
            for table, draw in parts
            if len(rows := _side(along, table, columns))
        ]
        if layers:
            wide = COLUMN * len(along.words) if columns else width
            alone = columns and not _ranges(along)
            chart = alt.layer(*layers).properties(width=max(wide, width) if alone else wide, height=height)
            shown.append(chart)
    if len(shown) > 1:
        shown[1] = _without_y(shown[1])
    return alt.hconcat(*shown, spacing=4).resolve_scale(xOffset="independent")


def readable(value: float, unit: str) -> str:
    """A number of a setting, in the largest unit of its kind that it is at least one of. It is rounded: for reading."""
    kind, size = scale(unit)
    amount = abs(float(value) * float(size))
    names = {"memory": MEMORY, "time": TIME}.get(kind, COUNT)
    if value < 0 or not amount:
        return f"{value:g}"
    name, factor = next(((n, f) for n, f in names if amount >= f), names[-1])
    told = amount / factor
    return f"{told:.3g}{name}" if told < 1000 else f"{told:.6g}{name}"


def _ranges(along: Along) -> bool:
    return along.low < along.high


def _side(along: Along, table: pd.DataFrame, columns: bool) -> pd.DataFrame:
    """The rows whose values are drawn in columns, or those that are drawn along the range."""
    inside = table[table.value.isin(along.words) == columns]
    if columns:
        return inside.assign(word=[along.text(v) for v in inside.value]).drop(columns="value")
    return inside.assign(value=pd.to_numeric(inside.value), shown=[along.text(v) for v in inside.value])


def _without_y(chart: alt.LayerChart) -> alt.LayerChart:
    for layer in chart.layer:
        if layer.encoding.y is not alt.Undefined:
            layer.encoding.y["axis"] = alt.Axis(labels=False, ticks=False, title=None)
    return chart


def ends(*columns: pd.Series) -> list[float]:
    """From the least to the greatest of all, with a little room."""
    low = min(float(c.min()) for c in columns if c.notna().any())
    high = max(float(c.max()) for c in columns if c.notna().any())
    room = 0.04 * (high - low) or max(abs(high), 1.0) * 0.05
    return [low - room, high + room]


def framed(middle: pd.Series, low: pd.Series, high: pd.Series) -> list[float]:
    """From the least to the greatest middle and zero, and of their intervals as far again on each side: one interval
    that is much wider than all others does not make these invisible."""
    least, most = min(float(middle.min()), 0.0), max(float(middle.max()), 0.0)
    reach = most - least
    shown = pd.Series([least, most, max(float(low.min()), least - reach), min(float(high.max()), most + reach)])
    return ends(shown)


def decades(low: float, high: float) -> list[float] | None:
    """Round ticks of a logarithmic axis; None where it spans too little for them."""
    if not 0 < 5 * low <= high:
        return None
    steps = (1,) if high / low > 1e3 else (1, 3) if high / low > 30 else (1, 2, 5)
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    return [tick for power in powers for step in steps if low <= (tick := step * 10.0**power) <= high]


def moments(field: str, title: str, found: pd.Series) -> alt.X:
    """A time's axis in UTC for these moments, each label with its date, and with its seconds where all are close."""
    close = found.max() - found.min() < SHORT
    axis = alt.Axis(
        format="%d %b %H:%M:%S" if close else "%d %b %H:%M", labelOverlap=True, tickCount=3, labelFlush=True
    )
    return alt.X(f"{field}:T", title=f"{title} (UTC)", axis=axis, scale=alt.Scale(type="utc", padding=12))


def marked(name: str, before: Mapping[str, Value] | None, best: Mapping[str, Value]) -> list[tuple[pd.DataFrame, str]]:
    """A setting's value at the beginning, where that is known, and in the best configuration: each as a table, with the
    colour of its line."""
    found = [(best.get(name), MARK), ((before or {}).get(name), QUIET)]
    return [(pd.DataFrame({"value": [v]}, dtype=object), colour) for v, colour in found if v is not None]


def rule(colour: str) -> Draw:
    """A line at a value; in the quiet colour it is dashed, and narrow enough to be seen on another line."""

    def drawn(chart: alt.Chart, x: alt.X) -> alt.Chart:
        dash, width = ([5, 5], 1.5) if colour == QUIET else ([1, 0], 2.5)
        return chart.mark_rule(color=colour, strokeDash=dash, strokeWidth=width).encode(x=x)

    return drawn
