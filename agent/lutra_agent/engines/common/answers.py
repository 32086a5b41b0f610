"""Servers' answers, read with care: an answer of an unexpected kind loses only itself, and is named."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, TypeVar

from lutra_models.errors import InvalidConfiguration

from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.errors import CollectionFailed

T = TypeVar("T")

NONSENSE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, InvalidConfiguration)
"""The errors of reading an answer that is NULL, text in place of a number, or a row with other columns."""
LONGEST_WORDS = 200


@contextmanager
def understood(what: str) -> Iterator[None]:
    """Raises CollectionFailed if the answer has an unexpected type. A decorator as well."""
    try:
        yield
    except NONSENSE as error:
        words = f"{type(error).__name__}: {error}"[:LONGEST_WORDS]
        raise CollectionFailed(f"{what}: the agent cannot read the server's answer ({words})") from error


class Attempts:
    """Parts of one sample, each read separately: `problems` names those that failed; the others are available."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def tried(self, name: str, read: Callable[[], T]) -> T | None:
        """None if it failed."""
        try:
            with understood(name):
                return read()
        except CollectionFailed as error:
            self.problems.append(f"{name}: {str(error).removeprefix(f'{name}: ')}")
            return None


def reading(
    values: Mapping[str, Any], gauges: frozenset[str], epoch: object = None, texts: frozenset[str] = frozenset()
) -> Reading:
    """Columns of numbers by name, those of `texts` apart; what the server leaves NULL, or gives as something else, is
    absent.
    """
    numbers = {str(n): found for n, v in values.items() if n not in texts and (found := number(v)) is not None}
    return Reading(
        {n: v for n, v in numbers.items() if n not in gauges},
        {n: v for n, v in numbers.items() if n in gauges},
        "" if epoch is None else str(epoch),
        {n: text(values[n]) for n in sorted(texts) if isinstance(values.get(n), str | bytes)},
    )


def number(value: Any) -> float | None:
    """None for a value that is not a finite number."""
    if not isinstance(value, int | float | Decimal):
        return None
    try:
        found = float(value)
    except (ArithmeticError, ValueError):
        return None
    return found if math.isfinite(found) else None


def certain(value: Any) -> float:
    """Raises ValueError for a value that is not a finite number."""
    found = number(value)
    if found is None:
        raise ValueError(f"{value!r} is not a number")
    return found


def number_in(text: object) -> float | None:
    """None for a text that is not a finite number."""
    try:
        return number(float(str(text)))
    except ValueError:
        return None


def end_of_range(value: object) -> float | None:
    """The server's limit of allowed values. None if it does not report one, NaN if it is not a number."""
    if value is None or value == "":
        return None
    found = number_in(value)
    return math.nan if found is None else found


def text(value: object) -> str:
    """As a text: empty for NULL, and bytes as well as they can be read."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return "" if value is None else str(value)


def text_or_none(value: object) -> str | None:
    return None if value is None else text(value)
