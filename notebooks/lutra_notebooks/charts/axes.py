"""What charts share: a setting's axis with its special values beside the range, a time's axis with dates, colours."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
import pandas as pd
from lutra_models.catalog.units import show
from lutra_models.knobs import Knob, Number, Value

INSIDE, OUTSIDE, MARK, QUIET = "#4c78a8", "#e45756", "firebrick", "#888888"
COLUMN = 30
"""Pixels of a special value's column, and of an option's."""
TICKS = 4
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

    @property
    def title(self) -> str:
        return self.name

    def ticks(self) -> list[float]:
        spaced = np.geomspace if self.log else np.linspace
        if not self.low < self.high:
            return [self.low]
        domain = Number(self.low, self.high, self.unit, self.log)
        return sorted({domain.rounded(float(v)) for v in spaced(self.low, self.high, TICKS)})

    def text(self, value: Value) -> str:
        """As people write it: 1GB, not 131072."""
        try:
            return show(value, self.unit)
        except ValueError:
            return f"{value:g}" if isinstance(value, int | float) else str(value)

    def x(self) -> alt.X:
        """The axis of the range."""
        named = " : ".join(
            f"abs(datum.value - {tick!r}) <= {1e-9 * abs(tick)!r} ? {json.dumps(self.text(tick))}"
            for tick in self.ticks()
        )
        axis = alt.Axis(values=self.ticks(), labelExpr=f"{named} : ''", labelOverlap=True, grid=True)
        scale = alt.Scale(type="log" if self.log else "linear", domain=[self.low, self.high], nice=False, padding=6)
        return alt.X("value:Q", title=self.title, axis=axis, scale=scale)

    def words_x(self, title: str | None) -> alt.X:
        """The axis of the columns."""
        order = [self.text(word) for word in self.words]
        return alt.X("word:N", title=title, sort=order).axis(labelAngle=0 if title else -90, labelLimit=90)


def panel(
    along: Along, parts: Sequence[tuple[pd.DataFrame, Draw]], width: int = 230, height: int = 170
) -> alt.HConcatChart:
    """One setting: `parts` are tables with a column `value`, and what is drawn of each. Special values have columns of
    their own to the left of the range, under the same y axis; what a part draws has to fix the y axis' domain.
    """
    shown = []
    for columns in (True, False):
        layers = [
            draw(alt.Chart(rows), along.words_x(None if _ranges(along) else along.title) if columns else along.x())
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
    return alt.hconcat(*shown, spacing=4)


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


def moments(field: str, title: str) -> alt.X:
    """A time's axis in UTC, each label with its date."""
    axis = alt.Axis(format="%d %b %H:%M", labelOverlap=True, tickCount=4, labelFlush=True)
    return alt.X(f"{field}:T", title=f"{title} (UTC)", axis=axis, scale=alt.Scale(type="utc", padding=12))
