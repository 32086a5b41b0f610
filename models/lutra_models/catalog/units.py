"""Numbers with units: "1GB" in, 131072 of 8kB out, and back, exactly.

Base units are the byte and the millisecond. Units are case-sensitive and 1024-based, like PostgreSQL's own; an engine's
file may give them further names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Value

MEMORY = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
TIME = {
    "us": Fraction(1, 1000),
    "ms": Fraction(1),
    "s": Fraction(1000),
    "min": Fraction(60_000),
    "h": Fraction(3_600_000),
    "d": Fraction(86_400_000),
}
TRUE = frozenset({"on", "true", "yes", "1", "t", "tr", "tru", "y", "ye"})
FALSE = frozenset({"off", "false", "no", "0", "f", "fa", "fal", "fals", "n", "of"})

Booleans = tuple[str, str]
BOOLEANS: Booleans = ("off", "on")
"""The words of most servers for false and true."""

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*([A-Za-z]*)\s*", re.ASCII)
_UNIT = re.compile(r"(\d{0,6})([A-Za-z]+)", re.ASCII)
LONGEST_UNIT = 16


@lru_cache(maxsize=256)
def scale(unit: str) -> tuple[str, Fraction]:
    """A server's unit ("8kB", "ms", "") as its kind ("memory", "time", "") and its size in bytes or milliseconds.

    Raises InvalidConfiguration for a unit of nothing ("0kB") and for one that is too long to be a unit.
    """
    if len(unit) > LONGEST_UNIT:
        raise InvalidConfiguration(f"a text of {len(unit)} characters is not a unit")
    found = _UNIT.fullmatch(unit)
    if found is None:
        return "", Fraction(1)
    count, name = Fraction(int(found[1] or 1)), found[2]
    if count == 0:
        raise InvalidConfiguration(f"{unit!r} is not a unit")
    if name in MEMORY:
        return "memory", count * MEMORY[name]
    if name in TIME:
        return "time", count * TIME[name]
    return "", Fraction(1)


def parse_number(
    name: str, text: str, unit: str, integer: bool, aliases: Mapping[str, str] | None = None
) -> int | float:
    """A number in `unit`. Raises InvalidConfiguration, which names the accepted units."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise InvalidConfiguration(f"{name}: {text!r} is not a number{_units_hint(unit)}")
    amount = Fraction(found[1])
    if found[2]:
        amount = _converted(name, amount, (aliases or {}).get(found[2], found[2]), unit, text)
    if integer:
        return round(amount)
    try:
        return float(amount)
    except OverflowError:
        raise InvalidConfiguration(f"{name}: {text!r} is too large") from None


def parse_bool(name: str, value: Value, booleans: Booleans = BOOLEANS) -> str:
    """The one of `booleans` that the value means, whichever words it uses. Raises InvalidConfiguration."""
    false, true = booleans
    word = str(value).strip().lower()
    if word in TRUE:
        return true
    if word in FALSE:
        return false
    raise InvalidConfiguration(f"{name}: {value!r} is neither {true} nor {false}")


def show(value: Value, unit: str) -> str:
    """The shortest text that the server reads back as exactly this value: 131072 of "8kB" is "1GB"."""
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return repr(value)
    if isinstance(value, float) and not value.is_integer():
        # Given a unit, PostgreSQL rounds to the next smaller one, and reads 5.64148ms as 5.641.
        kind, size = scale(unit)
        exact = bool(kind) and any((Fraction(repr(value)) * size / u).denominator == 1 for u in _named(kind).values())
        return repr(value) + (unit if exact and unit in _named(kind) else "")
    number = int(value)
    kind, size = scale(unit)
    if not kind or number <= 0:
        return str(number)
    base = number * size
    for name, one in sorted(_named(kind).items(), key=lambda item: -item[1]):
        if (base / one).denominator == 1:
            return f"{base / one}{name}"
    return str(number)


def _converted(name: str, amount: Fraction, given: str, unit: str, text: str) -> Fraction:
    kind, size = scale(unit)
    known = _named(kind) if kind else {}
    if given not in known:
        raise InvalidConfiguration(f"{name}: unknown unit {given!r} in {text!r}{_units_hint(unit)}")
    return amount * known[given] / size


def _named(kind: str) -> dict[str, Fraction]:
    return {n: Fraction(b) for n, b in MEMORY.items()} if kind == "memory" else TIME


def _units_hint(unit: str) -> str:
    kind, _ = scale(unit)
    if not kind:
        return "; expected a plain number"
    return f"; expected {', '.join(_named(kind))} (case matters), or a plain number of {unit}"
