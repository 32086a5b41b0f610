"""One setting as text and as a value, and the numbers that formulas make of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from lutra_models.catalog.rows import KnobRow
from lutra_models.catalog.units import parse_bool, parse_number, scale, show
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Value
from lutra_models.server import ServerSetting

LONGEST_TEXT = 200
LARGEST = 1e30
SMALLEST = 1e-30


def from_text(row: KnobRow, value: Value, setting: ServerSetting, aliases: Mapping[str, str]) -> Value:
    """A value of the setting's live kind, in its unit; ranges are not judged. Raises InvalidConfiguration."""
    name = row.name
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise InvalidConfiguration(f"{name}: a text of {len(value)} characters is not a valid value")
    if setting.kind == "bool":
        return parse_bool(name, value, row.booleans)
    if setting.kind in ("enum", "string"):
        return str(value)
    integer = setting.kind == "integer"
    if isinstance(value, str):
        value = parse_number(name, value, setting.unit, integer, aliases)
    if not (value == 0 or SMALLEST <= abs(value) < LARGEST):
        raise InvalidConfiguration(
            f"{name}: a number beyond {LARGEST:g}, or nearer to 0 than {SMALLEST:g}, is not a valid value"
        )
    if integer and value != int(value):
        raise InvalidConfiguration(f"{name}: {value!r} is not an integer")
    return int(value) if integer else _as_printed(value)


def accepted(row: KnobRow, value: Value, setting: ServerSetting, aliases: Mapping[str, str]) -> Value:
    """A value that the server accepts. Raises InvalidConfiguration, which names the accepted values."""
    parsed = from_text(row, value, setting, aliases)
    if isinstance(parsed, str):
        return _option(row, parsed, setting)
    low = -math.inf if setting.low is None else setting.low
    high = math.inf if setting.high is None else setting.high
    if not low <= parsed <= high:
        bounds = " to ".join(show(_whole(b), setting.unit) for b in (setting.low, setting.high) if b is not None)
        raise InvalidConfiguration(f"{row.name}: {value} is outside what the server takes, {bounds}")
    return parsed


def factor(unit: str) -> float:
    """Bytes or milliseconds in one of the server's unit; 1 for a plain number."""
    return float(scale(unit)[1])


def fits(row: KnobRow, value: Value) -> bool:
    """Whether a live value has the row's type: a number, or a word. Formulas rely on it."""
    return isinstance(value, str) != (row.kind in ("integer", "real"))


def to_base(value: Value, per_unit: float) -> float | str:
    """Bytes, milliseconds or a plain number; a negative value has a special meaning and stays."""
    if isinstance(value, str):
        return value
    return value * per_unit if value > 0 else float(value)


@dataclass(frozen=True)
class Overlay:
    """The names that some formulas read, for one server: `base` as it is now, `factors` to lay a candidate over it."""

    base: Mapping[str, float | str]
    factors: Mapping[str, float]

    def scope(self, candidate: Mapping[str, Value]) -> dict[str, float | str]:
        scope = dict(self.base)
        for name, per_unit in self.factors.items():
            if name in candidate:
                scope[name] = to_base(candidate[name], per_unit)
        return scope

    def only(self, names: frozenset[str]) -> Overlay:
        """Cheap to send to another process."""
        return Overlay(
            {n: v for n, v in self.base.items() if n in names}, {n: f for n, f in self.factors.items() if n in names}
        )


def _option(row: KnobRow, value: str, setting: ServerSetting) -> str:
    if setting.kind != "enum":
        return value
    options = setting.options or tuple(dict.fromkeys((*row.options, *row.legal, setting.value)))
    word = value.strip().lower()
    for option in options:
        if option.lower() == row.synonyms.get(word, word):
            return option
    raise InvalidConfiguration(f"{row.name}: {value!r} is not one of {', '.join(options)}")


def _as_printed(number: float) -> float:
    """The server prints six significant digits of a real setting: more would not be read back."""
    return float(f"{number:.6g}")


def _whole(number: float) -> Value:
    return int(number) if float(number).is_integer() and abs(number) < 2**63 else number
