"""Rules for the operator of a live server, as data: read once and checked as a whole."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from lutra_models.catalog.formula import Formula
from lutra_models.catalog.rows import FACTS, UNITS, load
from lutra_models.symptoms.rows import DATA_FACTS
from lutra_models.symptoms.sentences import FORMS, places

_TOLD = ("stock", "after")


@dataclass(frozen=True)
class RuleRow:
    """The reason to change one setting on a live server by the catalogue's rule, and the argument against it.

    `stock` is the server's own default. The row applies if `when` is true. If the size of all data is known, `most` is
    the upper limit, and the sentence is `bounded` in place of `why`. `by_host` says that the host is the reason,
    whatever today's load shows.
    """

    engine: str
    setting: str
    stock: Formula
    why: str
    against: str
    when: Formula | None = None
    by_host: bool = False
    most: Formula | None = None
    bounded: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        return self.why, self.bounded, self.against


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("rules.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _rows() -> tuple[RuleRow, ...]:
    return from_document(_document())


def expected_gain(of: str) -> float:
    """The share by which p99 typically falls if a symptom of this group, or a rule, is right. Raises KeyError."""
    return float(_document()["gains"][of])


def rule_rows(engine: str) -> tuple[RuleRow, ...]:
    """The important settings of an engine, the most important first; empty for an engine without known ones."""
    return tuple(row for row in _rows() if row.engine == engine)


def from_document(document: Mapping[str, Any]) -> tuple[RuleRow, ...]:
    """Raises ValueError if a row names a setting of no catalogue, or reads an unknown name."""
    return tuple(_checked(_row(entry)) for entry in document["rule"])


def _row(entry: Mapping[str, Any]) -> RuleRow:
    values = dict(entry)
    values |= {name: Formula(values[name]) for name in ("stock", "when", "most") if name in values}
    return RuleRow(**values)


def _checked(row: RuleRow) -> RuleRow:
    catalog = load(row.engine)
    settings = {r.name: r for r in catalog.rows}
    if row.setting not in settings or not any(r.rule for r in catalog.rows if r.name == row.setting):
        raise ValueError(f"{row.engine}: the catalogue has no rule for {row.setting}")
    known = settings.keys() | {*FACTS, *UNITS, *DATA_FACTS}
    if (row.most is None) != (not row.bounded):
        raise ValueError(f"{row.engine}: {row.setting} has a bound without a sentence, or a sentence without one")
    read = {n for formula in (row.stock, row.when, row.most) if formula is not None for n in formula.names}
    if strange := read - known:
        raise ValueError(f"{row.setting}: unknown names {sorted(strange)}")
    for name, form in _places(row):
        if name not in known | {*_TOLD} or form not in FORMS:
            raise ValueError(f"{row.setting}: {{{name}:{form}}} is not a number that a sentence can show")
    return row


def _places(row: RuleRow) -> Iterator[tuple[str, str]]:
    return (place for text in row.texts for place in places(text))
