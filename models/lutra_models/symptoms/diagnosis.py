"""Finds symptoms from windows, settings and hardware, the most harmful first. A pure function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from lutra_models.catalog import LiveSettings
from lutra_models.errors import InvalidConfiguration
from lutra_models.evidence import harm
from lutra_models.knobs import Value
from lutra_models.server import Policy
from lutra_models.symptoms.offers import Cure, Offers, Wish, worth_executing
from lutra_models.symptoms.rows import HARMS, SUM_FACTS, CureRow, Kind, SymptomRow, of_engine
from lutra_models.symptoms.sentences import statements, told
from lutra_models.symptoms.span import MeasuredWindow, data_facts

UNBOUNDED = float(2**62)
"""The room for data of unknown size."""

LEAST_SHARE = 0.1
"""The least share that counts: a symptom that concerns fewer sessions, or less of the time, is not less urgent."""


@dataclass(frozen=True)
class Symptom:
    """A diagnosis. `strength` is above 0 and at most 1, `measured` the row's measure, `numbers` its components.

    `settings` are those of its sentence, `cures` the proposed changes of them: for the kind `enough` there may be none.
    It may be a consequence of the symptoms that it `follows`. `statements` are for a person, if no cure is offered.
    """

    name: str
    kind: Kind
    group: str
    strength: float
    sentence: str
    measured: float
    numbers: Mapping[str, Value]
    settings: tuple[str, ...]
    cures: tuple[Cure, ...]
    threshold: str
    source: str
    follows: tuple[str, ...] = ()
    memory_short: bool = False
    """While it is present, no setting that takes more memory is raised."""
    statements: tuple[str, ...] = ()
    urgency: float = 0.0
    """The strength, weighted by what is at stake and by the share of the sessions, or of the time, that it concerns."""
    causes: tuple[str, ...] = ()
    """The present symptoms of which it is a consequence."""

    @property
    def rank(self) -> tuple[int, bool, float]:
        """Sorts by harm, as an on-call engineer would: first what fails now; then what can lose data or stop the
        server; then what costs time, by how much; notes last.

        Among those of one kind, causes come before their consequences, and then the more urgent before the less.
        Measured symptoms come before those of a setting alone, and present harm before future harm.
        """
        return harm(self.kind), bool(self.causes), -self.urgency


@dataclass(frozen=True)
class Diagnosis:
    """`symptoms`, the most harmful first, and the windows on which they are based, by their number and total seconds.

    `evaluated` counts the symptoms of this server whose metrics and settings were available, whether or not they are
    present. `not_judged` are the names of the others. `data` are the facts in the windows about the size of all data.
    """

    symptoms: tuple[Symptom, ...]
    windows: int
    seconds: float
    evaluated: int = 0
    not_judged: tuple[str, ...] = ()
    data: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Seen:
    """A symptom before it has its cures: what it asks for, and what a person could do instead."""

    symptom: Symptom
    wishes: list[Wish]
    by_hand: str
    statements: tuple[str, ...]
    said_by: tuple[str, ...]


def diagnose(live: LiveSettings, policy: Policy, windows: Sequence[MeasuredWindow]) -> Diagnosis:
    """The symptoms of `windows`, all measured under the live settings and in the order of time.

    A symptom whose metrics or settings are missing stays silent, as does one that another symptom includes; a symptom
    that reads only settings needs no window. Every cure is inside the setting's range, keeps the policy, and all cures
    together keep the memory limit and the couplings. Raises InvalidConfiguration if the server reports an invalid
    value.
    """
    seconds = sum(w.seconds for w in windows)
    data = data_facts(windows)
    scope = {**scope_of(live, policy, seconds), **data}
    engine, version = live.server.engine, live.server.version
    seen: list[_Seen] = []
    not_judged: list[str] = []
    rows = [row for row in of_engine(engine) if row.covers(engine, version)]
    for row in rows:
        try:
            found = _seen(row, engine, {**scope, **_measured(row, windows)})
        except InvalidConfiguration:
            not_judged.append(row.name)
        else:
            seen += [] if found is None else [found]
    shown = {s.symptom.name for s in seen}
    seen = [s for s in seen if not shown.intersection(s.said_by)]
    seen = [replace(s, symptom=ranked) for s, ranked in zip(seen, _ranked([s.symptom for s in seen]), strict=True)]
    seen.sort(key=lambda s: s.symptom.rank)
    offers = Offers(live, policy, memory_short=any(s.symptom.memory_short for s in seen))
    symptoms = tuple(_treated(s, live, offers.cures(s.wishes)) for s in seen)
    return Diagnosis(symptoms, len(windows), seconds, len(rows) - len(not_judged), tuple(not_judged), data)


def _ranked(shown: Sequence[Symptom]) -> list[Symptom]:
    """Each with its causes among the others. A cause is at least as urgent as its consequence."""
    named = {s.name: s for s in shown}
    causes = {s.name: tuple(n for n in s.follows if n in named) for s in shown}
    urgency = {s.name: s.urgency for s in shown}
    rising = True
    while rising:
        rising = False
        for name, found in causes.items():
            for cause in found:
                alike = harm(named[cause].kind) == harm(named[name].kind)
                if alike and urgency[cause] < urgency[name]:
                    urgency[cause], rising = urgency[name], True
    return [
        replace(s, urgency=urgency[s.name], causes=causes[s.name], sentence=f"{s.sentence}{_comes_of(causes[s.name])}")
        for s in shown
    ]


def _comes_of(causes: Sequence[str]) -> str:
    return f" It may be a consequence of {' or '.join(causes)}: look at that first." if causes else ""


def _treated(seen: _Seen, live: LiveSettings, cures: tuple[Cure, ...]) -> Symptom:
    """With what may be offered; where that is nothing, with what a person could do."""
    symptom = seen.symptom
    helpless = not any(c.after is not None for c in cures)
    return replace(
        symptom,
        sentence=f"{symptom.sentence} {seen.by_hand}" if helpless and seen.by_hand else symptom.sentence,
        settings=tuple(n for n in symptom.settings if n in live.values),
        cures=cures,
        statements=worth_executing(seen.statements, live) if helpless else (),
    )


def scope_of(live: LiveSettings, policy: Policy, seconds: float = 0.0) -> dict[str, Any]:
    """The variables of every row: hardware, settings in bytes, milliseconds or plain numbers, their memory, the
    measured time.
    """
    scope: dict[str, Any] = {**live.overlay.base, "seconds": seconds, "data_room": UNBOUNDED}
    with suppress(InvalidConfiguration):
        needed = live.memory(policy, {})
        if needed.terms:
            largest = max(needed.terms, key=lambda term: term.bytes)
            found = (float(needed.total_bytes), largest.name, float(largest.bytes))
            scope.update(zip(SUM_FACTS, found, strict=True))
    return scope


def _measured(row: SymptomRow, windows: Sequence[MeasuredWindow]) -> dict[str, float | str]:
    values = {name: row.measured[name].value(windows) for name in row.names & row.measured.keys()}
    return {name: value for name, value in values.items() if value is not None}


def _defaults(row: SymptomRow, scope: Mapping[str, Any]) -> dict[str, Any]:
    """What stands in for names that this server does not have; one that cannot be computed stays unknown."""
    found: dict[str, Any] = {}
    for name, default in row.defaults.items():
        if name in row.names and name not in scope:
            with suppress(InvalidConfiguration):
                found[name] = default.value({**scope, **found})
    return found


def _seen(row: SymptomRow, engine: str, scope: dict[str, Any]) -> _Seen | None:
    """The symptom without its cures; None if it does not show.

    Raises InvalidConfiguration if something that it reads is not there.
    """
    scope.update(_defaults(row, scope))
    if _excluded(row, scope):
        return None
    numbers = {name: scope.setdefault(name, formula.value(scope)) for name, formula in row.numbers.items()}
    measured = row.measure.number(scope)
    strength = row.strength(measured)
    if not strength or not row.given(scope):
        return None
    scope["measured"] = measured
    sentence = told(row.sentence, scope)
    wishes = [_wish(c, scope) for c in row.cures if _asked(c, engine, scope)]
    weight, _ = HARMS[row.harm]
    symptom = Symptom(
        row.name,
        row.kind_at(measured),
        row.group,
        strength,
        sentence,
        measured,
        numbers,
        row.settings,
        (),
        row.threshold,
        row.source,
        row.follows,
        row.memory_short,
        urgency=strength * weight * min(max(row.share.number(scope), LEAST_SHARE), 1.0),
    )
    return _Seen(
        symptom,
        wishes,
        told(row.by_hand, scope),
        tuple(s for text in row.statements for s in statements(text, scope, row.untrusted)),
        row.said_by,
    )


def _excluded(row: SymptomRow, scope: Mapping[str, Any]) -> bool:
    """Whether its condition does not hold, regardless of anything else that is unknown."""
    try:
        return not row.given(scope)
    except InvalidConfiguration:
        return False


def _asked(cure: CureRow, engine: str, scope: Mapping[str, Any]) -> bool:
    return (not cure.engines or engine in cure.engines) and (cure.when is None or bool(cure.when(scope)))


def _wish(cure: CureRow, scope: Mapping[str, Any]) -> Wish:
    value = cure.value.value(scope)
    return Wish(cure.setting, cure.way, value, told(cure.reason, {**scope, "after": value}), cure.whole)
