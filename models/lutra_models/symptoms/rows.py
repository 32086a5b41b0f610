"""Symptoms as data: one TOML file for each family of engines and one for the host, read once and checked as a whole."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any, Literal, get_args

from lutra_models.catalog.formula import Formula
from lutra_models.catalog.rows import FACTS, UNITS, Version, load, version_of
from lutra_models.symptoms.sentences import EACH, FORMS, places
from lutra_models.symptoms.span import Measured

Kind = Literal["outage", "danger", "fault", "elsewhere", "enough", "note"]
Way = Literal["raise", "lower", "set"]

KINDS: Mapping[Kind, str] = {
    "outage": "clients are failing or waiting in vain now",
    "danger": "data can be lost, or the server can stop",
    "fault": "a setting limits the server's performance",
    "elsewhere": "time is lost, and no setting helps",
    "enough": "a setting is large enough, or could release memory",
    "note": "nothing is wrong, but the information may be useful",
}
Harm = Literal["work", "data", "server", "time", "perhaps", "access", "later"]
HARMS: Mapping[Harm, tuple[float, str]] = {
    "work": (1.0, "the work of clients, now"),
    "data": (0.95, "data, now or at the next crash or failover"),
    "server": (0.9, "the server, within hours or days"),
    "time": (0.9, "time now, according to windows"),
    "perhaps": (0.6, "time, according to a setting alone"),
    "access": (0.5, "access, or a known fault of the version"),
    "later": (0.25, "later costs, or missing aids in an incident"),
}
"""The kinds of harm, with their weight among the findings of one kind."""
GROUPS: Mapping[Harm, frozenset[str]] = {
    "work": frozenset({"waits", "refusals", "queries", "writes"}),
    "data": frozenset({"durability", "persistence", "integrity", "archiving"}),
    "access": frozenset({"access", "safety", "version"}),
    "later": frozenset({"logging", "watching", "tables", "files", "statistics", "host clock"}),
}
"""The harm of a danger or a note without one in its row; in all other groups it is the server, or only later costs."""
LATER = frozenset({"logging", "watching", "tables", "files", "version", "access", "safety", "host clock"})
"""Groups of which a fault, or time lost elsewhere, harms later, unless its row says otherwise."""
SPAN_FACTS = ("seconds",)
"""The measured seconds."""
DATA_FACTS = ("data", "data_room")
"""The facts of `span.data_facts`; if the data's size is unknown, `data_room` is infinite."""
SUM_FACTS = ("memory_sum", "memory_line", "memory_line_bytes")
"""The memory of the active settings in bytes, as the policy counts it; the name of its largest line, and its bytes."""
HOST = "linux"
"""The catalogue of the host's settings, beside every engine's own."""
WHOLE = Formula("1")
"""The share of a symptom without its own: all sessions, or all of the time."""
WEAKEST = 0.3
"""The strength of a symptom at its threshold."""


@dataclass(frozen=True)
class CureRow:
    """A setting that a symptom recommends to change: the direction, and the value in bytes, milliseconds or plain
    numbers.

    It is left out where `when` does not hold.
    """

    setting: str
    way: Way
    value: Formula
    reason: str
    when: Formula | None = None
    engines: tuple[str, ...] = ()
    """The engines of the family that have the setting; empty for all of them."""
    whole: bool = False
    """Whether a partial change, if the rules allow no more, cures nothing."""


@dataclass(frozen=True)
class SymptomRow:
    """A formula over windows, settings and hardware, and its sentence.

    The symptom shows where `given` holds and `measure` has reached `begins`, on the way to `full`, at which it has its
    full strength: at most `most`, less than 1 if the evidence is indirect. `threshold` is the origin of the two,
    `source` is its address. `numbers` are named parts of the formulas, in order. `settings` are those of its sentence;
    in a symptom of the kind `enough` they need no more. `measured` are the formulas' inputs from the windows. Without
    `engines` it is a symptom of the host. `by_hand` are a person's steps if no cure is offered, and `statements` the
    statements to execute.

    `harm` is what is at stake, and `share` how much of it: the share of the sessions, or of the time. From `noted` on,
    short of `begins`, the symptom is a note, so that a symptom that grows with its age is visible from the start.
    """

    name: str
    kind: Kind
    group: str
    engines: tuple[str, ...]
    since: Version
    until: Version | None
    measured: Mapping[str, Measured]
    defaults: Mapping[str, Formula]
    numbers: Mapping[str, Formula]
    given: Formula
    measure: Formula
    begins: float
    full: float
    most: float
    meaning: str
    sentence: str
    threshold: str
    source: str
    settings: tuple[str, ...]
    cures: tuple[CureRow, ...]
    follows: tuple[str, ...] = ()
    """Symptoms that cause this one: while one of them is present, its cure comes first and may be enough."""
    said_by: tuple[str, ...] = ()
    """Symptoms that include this one and more: while one of them is present, it is not shown."""
    by_hand: str = ""
    statements: tuple[str, ...] = ()
    memory_short: bool = False
    """Whether the host has no spare memory while it is present: no setting that takes more of it is raised."""
    share: Formula = WHOLE
    noted: float | None = None
    stake: Harm | None = None
    """The harm, if it differs from the usual one of the kind and the group."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"{self.name}: kind {self.kind!r} is not one of {get_args(Kind)}")
        if self.begins == self.full or not WEAKEST <= self.most <= 1:
            raise ValueError(f"{self.name}: begins {self.begins}, full {self.full}, most {self.most}")
        if self.kind == "elsewhere" and self.settings:
            raise ValueError(f"{self.name}: no setting helps, but {self.settings} are named")
        if self.kind in ("fault", "enough") and not self.settings:
            raise ValueError(f"{self.name}: it names no setting")
        if self.stake is not None and self.stake not in HARMS:
            raise ValueError(f"{self.name}: harm {self.stake!r} is not one of {get_args(Harm)}")
        if self.noted is not None and (self.noted < self.begins) != (self.begins < self.full):
            raise ValueError(f"{self.name}: it is noted from {self.noted} on, which lies beyond begins {self.begins}")
        if wrong := [c.way for c in self.cures if c.way not in get_args(Way)]:
            raise ValueError(f"{self.name}: {wrong[0]!r} is not one of {get_args(Way)}")

    def concerns(self, engine: str) -> bool:
        return not self.engines or engine in self.engines

    def covers(self, engine: str, version: str) -> bool:
        parts = version_of(version)
        old_enough = self.until is None or parts[: len(self.until)] <= self.until
        return self.concerns(engine) and self.since <= parts and old_enough

    def strength(self, measured: float) -> float:
        """From `WEAKEST` at its threshold to `most`; 0 if there is no symptom."""
        way = (measured - self.begins) / (self.full - self.begins)
        if way < 0:
            return WEAKEST if self._is_noted(measured) else 0.0
        return self.most if way >= 1 else WEAKEST + (self.most - WEAKEST) * way

    def kind_at(self, measured: float) -> Kind:
        """A note short of `begins`."""
        return self.kind if (measured - self.begins) / (self.full - self.begins) >= 0 else "note"

    def _is_noted(self, measured: float) -> bool:
        return self.noted is not None and (measured - self.noted) / (self.full - self.noted) >= 0

    @cached_property
    def harm(self) -> Harm:
        """The harm: as the row says, or the usual one of its kind and group."""
        if self.stake is not None:
            return self.stake
        if self.kind == "outage":
            return "work"
        if self.kind in ("danger", "note"):
            usual: Harm = "server" if self.kind == "danger" else "later"
            return next((harm for harm, groups in GROUPS.items() if self.group in groups), usual)
        if self.kind == "enough" or self.group in LATER:
            return "later"
        return "time" if self._decisive & self.measured.keys() else "perhaps"

    @property
    def _decisive(self) -> frozenset[str]:
        """What decides whether it shows, and how much."""
        found = self.measure.names | self.given.names
        for name in reversed([*self.numbers]):  # one may read those before it
            found |= self.numbers[name].names if name in found else frozenset()
        return found

    @property
    def formulas(self) -> Iterator[Formula]:
        """Its own inputs, without those of the defaults."""
        yield from (*self.numbers.values(), self.given, self.measure, self.share)
        yield from (f for c in self.cures for f in (c.value, c.when) if f is not None)

    @cached_property
    def names(self) -> frozenset[str]:
        """All names in its formulas and sentences, including those that a default can replace."""
        told = (name for text in self.texts for name, _ in places(text))
        found: set[str] = set()
        more = {*told, *(n for f in self.formulas for n in f.names)}
        while more:  # a default may read what another one stands in for
            found |= more
            more = {n for name in more & self.defaults.keys() for n in self.defaults[name].names} - found
        return frozenset(found)

    @property
    def untrusted(self) -> frozenset[str]:
        """Names whose values are texts from the database."""
        return frozenset(name for name, metric in self.measured.items() if metric.how == "text")

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.sentence, self.by_hand, *self.statements, *(c.reason for c in self.cures))


@lru_cache(maxsize=1)
def rows() -> tuple[SymptomRow, ...]:
    """Every engine's. Raises ValueError if a file contradicts itself or a catalogue."""
    files = sorted(
        (f for f in resources.files(__package__).iterdir() if f.name.endswith(".toml")), key=lambda f: f.name
    )
    found = tuple(r for f in files for r in from_document(tomllib.loads(f.read_text(encoding="utf-8"))))
    names = {r.name for r in found}
    for row in found:
        if strangers := {*row.follows, *row.said_by} - names:
            raise ValueError(f"{row.name}: it follows or is said by {sorted(strangers)}, which is unknown")
    return found


def of_engine(engine: str) -> tuple[SymptomRow, ...]:
    """The symptoms of every version, including the host's; only the host's for an engine without known symptoms."""
    return tuple(r for r in rows() if r.concerns(engine))


def from_document(document: Mapping[str, Any]) -> tuple[SymptomRow, ...]:
    """Raises ValueError if a formula or a sentence reads an unknown name."""
    metrics = {name: Measured.parse(text) for name, text in document.get("metrics", {}).items()}
    defaults = {name: Formula(text) for name, text in document.get("defaults", {}).items()}
    found = tuple(_row(entry, document, metrics, defaults) for entry in document["symptom"])
    names = [r.name for r in found]
    if twice := {n for n in names if names.count(n) > 1}:
        raise ValueError(f"two symptoms are called {sorted(twice)[0]}")
    for row in found:
        _verify(row, metrics)
    return found


def _row(
    entry: Mapping[str, Any],
    document: Mapping[str, Any],
    metrics: Mapping[str, Measured],
    defaults: Mapping[str, Formula],
) -> SymptomRow:
    values = {"since": 0, "given": 1, "most": 1.0, "share": "1", "cure": (), "settings": (), **entry}
    cures = tuple(_cure(c) for c in values.pop("cure"))
    numbers = _numbers(entry, document)
    until, noted, stake = values.pop("until", None), values.pop("noted", None), values.pop("harm", None)
    return SymptomRow(
        **{
            **values,
            "engines": tuple(values.get("engines", document["engines"])),
            "since": version_of(str(values["since"])),
            "until": None if until is None else version_of(str(until)),
            "numbers": numbers,
            "defaults": defaults,
            "measured": metrics,
            "begins": Formula(values["begins"]).number(UNITS),
            "full": Formula(values["full"]).number(UNITS),
            "given": Formula(values["given"]),
            "measure": Formula(values["measure"]),
            "share": Formula(values["share"]),
            "noted": None if noted is None else Formula(noted).number(UNITS),
            "stake": stake,
            "settings": tuple(dict.fromkeys((*values["settings"], *(c.setting for c in cures)))),
            "cures": cures,
            "follows": tuple(values.get("follows", ())),
            "said_by": tuple(values.get("said_by", ())),
            "statements": tuple(values.get("statements", ())),
        }
    )


def _numbers(entry: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Formula]:
    """The row's own, after those of the file that it reads."""
    shared = {name: Formula(text) for name, text in document.get("numbers", {}).items()}
    own = {name: Formula(text) for name, text in entry.get("numbers", {}).items()}
    reasons = (c["reason"] for c in entry.get("cure", ()))
    texts = (entry["sentence"], entry.get("by_hand", ""), *entry.get("statements", ()), *reasons)
    asked = [entry["measure"], entry.get("given", 1), entry.get("share", "1")]
    asked += [f for c in entry.get("cure", ()) for f in (c["value"], c.get("when", 1))]
    read = {name for text in texts for name, _ in places(text)}
    read |= {name for formula in (*map(Formula, asked), *own.values()) for name in formula.names}
    for name in reversed(shared):  # one may read those before it
        read |= shared[name].names if name in read else set()
    return {**{name: formula for name, formula in shared.items() if name in read}, **own}


def _cure(entry: Mapping[str, Any]) -> CureRow:
    when = entry.get("when")
    value = Formula(entry["value"])
    made = None if when is None else Formula(when)
    engines, whole = tuple(entry.get("engines", ())), bool(entry.get("whole", False))
    return CureRow(entry["setting"], entry["way"], value, entry["reason"], made, engines, whole)


def _verify(row: SymptomRow, metrics: Mapping[str, Measured]) -> None:
    settings = {r.name for name in (*row.engines, HOST) for r in load(name).rows}
    if unknown := set(row.settings) - settings:
        raise ValueError(f"{row.name}: no catalogue has {sorted(unknown)}")
    known = settings | {*FACTS, *UNITS, *SPAN_FACTS, *SUM_FACTS, *DATA_FACTS} | set(metrics) | set(row.defaults)
    if twice := set(metrics) & (settings | set(FACTS)) or set(row.numbers) & known:
        raise ValueError(f"{row.name}: {sorted(twice)} means two things")
    for formula in (*row.formulas, *row.defaults.values()):
        if strange := formula.names - known - set(row.numbers):
            raise ValueError(f"{row.name}: {formula.text!r} reads unknown names {sorted(strange)}")
    for name, form in (place for text in row.texts for place in places(text)):
        if name not in known | set(row.numbers) | {"measured", "after"} or form not in FORMS:
            raise ValueError(f"{row.name}: {{{name}:{form}}} is not a number that a sentence can show")
    _verify_statements(row)


def _verify_statements(row: SymptomRow) -> None:
    """A text from a database reaches a statement by itself, where it is looked at: as a part of no other, and where it
    may be quoted, outside of quotes.
    """
    made = set(row.untrusted)
    for _ in row.numbers:  # one may read another
        made |= {name for name, formula in row.numbers.items() if formula.names & made}
    for text in row.statements:
        for name, form in places(text):
            if name in made - row.untrusted:
                raise ValueError(f"{row.name}: a statement has {name}, which is made of a text from the database")
            if name in row.untrusted and form not in ("text", EACH):
                raise ValueError(f"{row.name}: a statement has {name}, from the database, in the form {form!r}")
            if name in row.untrusted and form == EACH and text.partition(f"{{{name}:")[0].count("'") % 2:
                raise ValueError(f"{row.name}: a statement has {name}, which may be quoted itself, in quotes")
