"""A catalogue file, read once: rows, memory terms, couplings and statement templates, as frozen values."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, get_args

from lutra_models.catalog.formula import Formula
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Applies, Risk

Kind = Literal["integer", "real", "bool", "enum"]

UNITS: dict[str, float] = {
    "kB": 2**10,
    "MB": 2**20,
    "GB": 2**30,
    "TB": 2**40,
    "ms": 1,
    "s": 1000,
    "minutes": 60_000,
    "h": 3_600_000,
}
FACTS = ("memory", "cores", "disk", "rotational", "peak_connections", "version")
"""Host facts that formulas may read: bytes, cores, bytes, 1 or 0, connections, major version."""


@dataclass(frozen=True)
class KnobRow:
    """What the catalogue says of one setting. Formulas speak bytes and milliseconds; the reader converts.

    `tune` says whether it is searched without being named. `since` and `until` are major versions, both included.
    """

    name: str
    group: str
    kind: Kind
    meaning: str
    manual: str
    applies: Applies
    unit: str = ""
    low: Formula | None = None
    high: Formula | None = None
    options: tuple[str, ...] = ()
    log: bool = False
    special: tuple[float, ...] = ()
    since: int = 12
    until: int | None = None
    risk: Risk = "none"
    tune: bool = True
    rule: Formula | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"{self.name}: kind {self.kind!r} is none of {get_args(Kind)}")
        if self.applies not in get_args(Applies) or self.risk not in get_args(Risk):
            raise ValueError(f"{self.name}: applies={self.applies!r}, risk={self.risk!r}")
        numeric = self.kind in ("integer", "real")
        if numeric and (self.low is None or self.high is None):
            raise ValueError(f"{self.name}: a numeric setting needs low and high")
        if self.kind == "enum" and len(self.options) < 2:
            raise ValueError(f"{self.name}: an enum needs at least two options, got {self.options}")

    @property
    def range_text(self) -> str:
        """The range as its formulas stand in the file."""
        if self.kind == "bool":
            return "on or off"
        if self.options:
            return "one of " + ", ".join(self.options)
        return f"{self.low} … {self.high}"

    @property
    def versions(self) -> str:
        return f"{self.since}+" if self.until is None else f"{self.since}–{self.until}"

    def covers(self, major: int) -> bool:
        return self.since <= major and (self.until is None or major <= self.until)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for an API."""
        return {
            "name": self.name,
            "group": self.group,
            "kind": self.kind,
            "unit": self.unit,
            "range": self.range_text,
            "log": self.log,
            "special": list(self.special),
            "versions": self.versions,
            "applies": self.applies,
            "risk": self.risk,
            "tuned_by_default": self.tune,
            "rule": None if self.rule is None else self.rule.text,
            "meaning": self.meaning,
            "manual": self.manual,
        }


@dataclass(frozen=True)
class TermRow:
    """One line of the worst-case sum: bytes by `formula`, true under `assumption`."""

    name: str
    formula: Formula
    assumption: str


@dataclass(frozen=True)
class Coupling:
    """A relation between settings that a server needs, or that makes one of them pointless when broken."""

    holds: Formula
    message: str


@dataclass(frozen=True)
class CatalogFile:
    """One engine's file. `defaults` stand in for settings that a version lacks or a report leaves out."""

    engine: str
    rows: tuple[KnobRow, ...]
    terms: tuple[TermRow, ...]
    couplings: tuple[Coupling, ...]
    defaults: Mapping[str, Formula]
    shrink: tuple[str, ...]
    set_template: str
    reset_template: str

    def rows_for(self, version: str) -> dict[str, KnobRow]:
        number = major(version)
        return {r.name: r for r in self.rows if r.covers(number)}


def major(version: str) -> int:
    """15 of "15.14 (Debian 15.14-0+deb12u1)". Raises InvalidConfiguration."""
    found = re.match(r"\s*(\d{1,4})", version, re.ASCII)
    if found is None:
        raise InvalidConfiguration(f"version {version!r} does not begin with a number")
    return int(found[1])


def engine_files() -> tuple[str, ...]:
    found = resources.files("lutra_models.catalog").iterdir()
    return tuple(sorted(f.name.removesuffix(".toml") for f in found if f.name.endswith(".toml")))


def read_file(engine: str) -> CatalogFile:
    """Raises ValueError where the file contradicts itself: every formula's names must be known."""
    text = resources.files("lutra_models.catalog").joinpath(f"{engine}.toml").read_text(encoding="utf-8")
    return from_document(engine, tomllib.loads(text))


def from_document(engine: str, document: Mapping[str, Any]) -> CatalogFile:
    rows = tuple(_row(r) for r in document["setting"])
    file = CatalogFile(
        engine,
        rows,
        tuple(TermRow(t["name"], Formula(t["formula"]), t["assumption"]) for t in document["memory"]),
        tuple(Coupling(Formula(c["holds"]), c["message"]) for c in document["coupling"]),
        {name: Formula(text) for name, text in document["defaults"].items()},
        tuple(document["shrink"]),
        document["statements"]["set"],
        document["statements"]["reset"],
    )
    _verify(file)
    return file


def _row(entry: Mapping[str, Any]) -> KnobRow:
    values = dict(entry)
    for name in ("low", "high", "rule"):
        if name in values:
            values[name] = Formula(values[name])
    for name in ("options", "special"):
        values[name] = tuple(values.get(name, ()))
    return KnobRow(**values)


def _verify(file: CatalogFile) -> None:
    settings = {r.name for r in file.rows}
    known = settings | set(FACTS) | set(UNITS)
    formulas = [f for r in file.rows for f in (r.low, r.high, r.rule) if f is not None]
    formulas += [t.formula for t in file.terms] + [c.holds for c in file.couplings] + list(file.defaults.values())
    for formula in formulas:
        if formula.names - known:
            raise ValueError(f"{file.engine}: {formula.text!r} reads unknown names {sorted(formula.names - known)}")
    read = {n for f in [t.formula for t in file.terms] + [c.holds for c in file.couplings] for n in f.names}
    if read & settings - set(file.defaults):
        raise ValueError(f"{file.engine}: no default for {sorted(read & settings - set(file.defaults))}")
