"""A catalogue file, read once: rows, memory terms and couplings, as frozen values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, get_args

from lutra_models.catalog.files import beside, catalogues, document, engines
from lutra_models.catalog.formula import Formula
from lutra_models.catalog.units import BOOLEANS, Booleans
from lutra_models.errors import InvalidConfiguration, NotFound
from lutra_models.knobs import Applies, Risk
from lutra_models.server import LIMITS, SERVER, MemoryCount

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
FACTS = ("memory", "cores", "disk", "rotational", "solid_state", "peak_connections", "version")
"""Host facts that formulas may read: bytes, cores, bytes, 1 or 0, connections, and the version as one number: 15, or
101106 of 10.11.6 where the file says `version_parts = 3`."""

Version = tuple[int, ...]


@dataclass(frozen=True)
class KnobRow:
    """The catalogue's row of one setting. Formulas use bytes and milliseconds; the reader converts.

    `tune` says whether it is searched even if it is not named. `since` and `until` are versions, both included: an
    `until` of (10, 5) covers 10.5.9. `legal` are further options that the server accepts beyond the searched ones, for
    servers that do not report them. The server rounds a value to a multiple of `multiple_of`. If the live server does
    not fulfil `needs`, and no other moving setting can make it do so, the setting has no effect there and does not
    move; one that is `fixed` is only shown. `source` is the setting source that keeps it. `takes` is the server's own
    range, in its unit, for a setting whose range cannot be queried; None if unknown. `synonyms` are further words of
    options.
    """

    name: str
    group: str
    kind: Kind
    meaning: str
    manual: str
    applies: Applies | Literal["fixed"]
    unit: str = ""
    low: Formula | None = None
    high: Formula | None = None
    options: tuple[str, ...] = ()
    log: bool = False
    legal: tuple[str, ...] = ()
    special: tuple[float, ...] = ()
    multiple_of: Formula | None = None
    needs: Formula | None = None
    since: Version = ()
    until: Version | None = None
    risk: Risk = "none"
    tune: bool = True
    rule: Formula | None = None
    booleans: Booleans = BOOLEANS
    source: str = SERVER
    takes: tuple[float, float] | None = None
    synonyms: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"{self.name}: kind {self.kind!r} is not one of {get_args(Kind)}")
        if self.applies not in (*get_args(Applies), "fixed") or self.risk not in get_args(Risk):
            raise ValueError(f"{self.name}: applies={self.applies!r}, risk={self.risk!r}")
        moves = self.applies != "fixed"
        numeric = self.kind in ("integer", "real")
        if moves and numeric and (self.low is None or self.high is None):
            raise ValueError(f"{self.name}: a numeric setting needs low and high")
        if moves and self.kind == "enum" and len(self.options) < 2:
            raise ValueError(f"{self.name}: an enum needs at least two options, got {self.options}")

    @property
    def range_text(self) -> str:
        """The range as formulas, as they are written in the file."""
        if self.kind == "bool":
            return " or ".join(reversed(self.booleans))
        if self.options:
            return "one of " + ", ".join(self.options)
        if self.low is None:
            return "only shown"
        return f"{self.low} … {self.high}"

    @property
    def versions(self) -> str:
        since = _dotted(self.since)
        return f"{since}+" if self.until is None else f"{since}–{_dotted(self.until)}"

    def covers(self, version: Version) -> bool:
        return self.since <= version and (self.until is None or version[: len(self.until)] <= self.until)

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values, for an API."""
        return {
            "name": self.name,
            "setting_source": self.source,
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
    """One line of the memory sum: its bytes by `formula`, valid under `assumption`.

    `formula` counts the worst case. `in_use` counts the memory that can really be in use, under `in_use_assumption`, if
    the file distinguishes the two.
    """

    name: str
    formula: Formula
    assumption: str
    in_use: Formula | None = None
    in_use_assumption: str = ""

    def counted(self, count: MemoryCount) -> tuple[Formula, str]:
        """The formula that `count` goes by, and what it assumes."""
        if count == "worst_case" or self.in_use is None:
            return self.formula, self.assumption
        return self.in_use, self.in_use_assumption


@dataclass(frozen=True)
class Coupling:
    """A relation between settings that a server requires, or whose violation makes one of them pointless."""

    holds: Formula
    message: str


@dataclass(frozen=True)
class LimitRow:
    """The worst-case need of settings for a resource that the host bounds; `needs` is its formula.

    `name` names the resource in words, `fact` the host's figure of it, in bytes or a plain number by `unit`. `what` is
    its use, and `remedy` says how to raise it.
    """

    name: str
    fact: str
    needs: Formula
    what: str
    remedy: str
    unit: str = ""

    def __post_init__(self) -> None:
        if self.fact not in LIMITS:
            raise ValueError(f"{self.name}: {self.fact!r} is not one of {LIMITS}")

    def amount(self, number: float) -> str:
        return f"{number / 2**20:,.0f} MB" if self.unit == "B" else f"{number:,.0f}"


@dataclass(frozen=True)
class Catalog:
    """The content of one file about the settings of one source, without a live server.

    `defaults` replace settings that a version lacks or a report leaves out. `derived` are further names in memory
    terms, each with its formula. `limits` are the host's bounds in addition to memory. `shrink` are the settings to
    lower, in this order, if the rule-based values need too much memory; `main_cache` is one that is never lowered for
    that. `aliases` are further names of units ("G" of "GB"). `plain` says that the server takes no unit in a statement.
    """

    name: str
    rows: tuple[KnobRow, ...]
    terms: tuple[TermRow, ...]
    couplings: tuple[Coupling, ...]
    defaults: Mapping[str, Formula]
    shrink: tuple[str, ...]
    aliases: Mapping[str, str]
    plain: bool
    version_parts: int
    source: str = SERVER
    derived: Mapping[str, Formula] = field(default_factory=dict)
    main_cache: str | None = None
    limits: tuple[LimitRow, ...] = ()

    def rows_for(self, version: str) -> tuple[KnobRow, ...]:
        """The rows that a version knows. Raises InvalidConfiguration if it does not begin with a number."""
        parts = version_of(version)
        return tuple(r for r in self.rows if r.covers(parts))

    def version_number(self, version: str) -> float:
        """The version in the form that formulas read."""
        parts = (*version_of(version), 0, 0)[: self.version_parts]
        return float(sum(part * 100**place for place, part in enumerate(reversed(parts))))


def version_of(version: str) -> Version:
    """(15, 14) of "15.14 (Debian 15.14-0+deb12u1)". Raises InvalidConfiguration."""
    found = re.match(r"\s*(\d{1,4})(?:\.(\d{1,4}))?(?:\.(\d{1,4}))?", version, re.ASCII)
    if found is None:
        raise InvalidConfiguration(f"version {version!r} does not begin with a number")
    return tuple(int(part) for part in found.groups() if part is not None)


@lru_cache(maxsize=64)
def load(name: str) -> Catalog:
    """An engine's own catalogue, or that of a further setting source.

    Raises NotFound if this name does not exist, ValueError if its file contradicts itself.
    """
    if name not in catalogues():
        raise NotFound(f"unknown engine {name!r}; known: {', '.join(engines())}")
    return from_document(name, document(name))


@lru_cache(maxsize=16)
def of_engine(engine: str) -> tuple[Catalog, ...]:
    """The engine's own catalogue, and those of the setting sources that it may have in addition to the server's own.

    Raises NotFound for an engine without a catalogue, ValueError if two of them contradict each other.
    """
    if engine not in engines():
        raise NotFound(f"unknown engine {engine!r}; known: {', '.join(engines())}")
    found = (load(engine), *(load(name) for name in beside(engine)))
    require_distinct(found)
    return found


def require_distinct(catalogs: Sequence[Catalog]) -> None:
    """Raises ValueError if two catalogues of one engine have the same setting, or are of the same source."""
    sources = [c.source for c in catalogs]
    if len(set(sources)) < len(sources):
        raise ValueError(f"{', '.join(c.name for c in catalogs)}: two catalogues of one source, {', '.join(sources)}")
    kept: dict[str, str] = {}
    for catalog in catalogs:
        names = {r.name for r in catalog.rows}
        if twice := sorted(names & kept.keys()):
            raise ValueError(f"{twice[0]} is in the catalogues {kept[twice[0]]} and {catalog.name}")
        kept |= dict.fromkeys(names, catalog.name)


def from_document(name: str, document: Mapping[str, Any]) -> Catalog:
    """Raises ValueError if a formula reads an unknown name."""
    booleans: Booleans = tuple(document.get("booleans", BOOLEANS))
    source = document.get("source", SERVER)
    shared = {"since": document.get("since", 0), "booleans": booleans, "source": source}
    takes = document.get("takes", {})
    entries = ({**shared, **r, "takes": takes.get(r["name"])} for r in (*document["setting"], *_watched(document)))
    rows = tuple(map(_row, entries))
    catalog = Catalog(
        name,
        rows,
        tuple(_term(t) for t in document.get("memory", ())),
        tuple(Coupling(Formula(c["holds"]), c["message"]) for c in document.get("coupling", ())),
        {name: Formula(text) for name, text in document.get("defaults", {}).items()},
        tuple(document.get("shrink", ())),
        document.get("unit_aliases", {}),
        document.get("plain_numbers", False),
        document.get("version_parts", 1),
        source,
        {name: Formula(text) for name, text in document.get("derived", {}).items()},
        document.get("main_cache"),
        tuple(LimitRow(**{**entry, "needs": Formula(entry["needs"])}) for entry in document.get("limit", ())),
    )
    _verify(catalog)
    return catalog


def _term(entry: Mapping[str, Any]) -> TermRow:
    in_use = Formula(entry["in_use"]) if "in_use" in entry else None
    return TermRow(
        entry["name"], Formula(entry["formula"]), entry["assumption"], in_use, entry.get("in_use_assumption", "")
    )


def _watched(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The settings that are read for what symptoms say of them, and never moved: several that are alike an entry."""
    for entry in document.get("watched", ()):
        for name, meaning in entry["settings"].items():
            alike = {key: value for key, value in entry.items() if key != "settings"}
            yield {**alike, "name": name, "meaning": meaning, "applies": "fixed", "tune": False}


def _row(entry: Mapping[str, Any]) -> KnobRow:
    values = dict(entry)
    for name in ("low", "high", "rule", "multiple_of", "needs"):
        if name in values:
            values[name] = Formula(values[name])
    for name in ("options", "legal", "special"):
        values[name] = tuple(values.get(name, ()))
    values["takes"] = None if values["takes"] is None else tuple(map(float, values["takes"]))
    for name in ("since", "until"):
        if name in values:
            values[name] = version_of(str(values[name]))
    return KnobRow(**values)


def _verify(catalog: Catalog) -> None:
    settings = {r.name for r in catalog.rows}
    known = settings | set(FACTS) | set(UNITS) | set(catalog.derived)
    formulas = [f for r in catalog.rows for f in (r.low, r.high, r.rule, r.multiple_of, r.needs) if f is not None]
    sums = [t.formula for t in catalog.terms] + [t.in_use for t in catalog.terms if t.in_use is not None]
    sums += [*(c.holds for c in catalog.couplings), *(r.needs for r in catalog.limits), *catalog.derived.values()]
    formulas += [*sums, *catalog.defaults.values()]
    for formula in formulas:
        if formula.names - known:
            raise ValueError(f"{catalog.name}: {formula.text!r} reads unknown names {sorted(formula.names - known)}")
    without = {n for f in sums for n in f.names} & settings - set(catalog.defaults)
    if without:
        raise ValueError(f"{catalog.name}: no default for {sorted(without)}")


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
