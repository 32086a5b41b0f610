"""The faults of a server and their cures, as far as they are known; the facts that are not known, and why.

The memory and the processors of a server elsewhere are unknown. It is judged twice, as if it had little of both and as
if it had much: a finding of both judgements holds on any hardware, and nothing else is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lutra_models.assessment import assess
from lutra_models.catalog import LiveSettings, meet
from lutra_models.evidence import OF_THE_HOST, Evidence, Finding
from lutra_models.server import Host, Policy, Server
from lutra_models.symptoms import Cure, Diagnosis, MeasuredWindow, Symptom, SymptomRow, diagnose, of_engine

from lutra_agent.engines.common.place import Place

POLICY = Policy()
SMALL, LARGE = Host(2**30, 1), Host(2**40, 128)
HARDWARE = (
    "they depend on the server's memory and processors, which are known only on its own host: run this command there"
)
NOTHING_OF_IT = (
    "the server does not use this feature, or did not use it during the measurement: measure longer, and under load"
)
OF_THE_MACHINE = "host"
"""The collector of this host's own facts."""


@dataclass(frozen=True)
class Unknown:
    """Symptoms that could not be judged, by name, and why."""

    why: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Judgement:
    """`settings` are the findings about values that no symptom covers. `elsewhere`: the hardware is unknown."""

    live: LiveSettings
    diagnosis: Diagnosis
    evidence: Evidence
    settings: tuple[Finding, ...]
    unknown: tuple[Unknown, ...]
    elsewhere: bool


def judge(server: Server, windows: Sequence[MeasuredWindow], problems: Sequence[str], place: Place) -> Judgement:
    """`problems` are the facts that the collectors could not read; `place` is the part of this host that is known to be
    the server's.

    Raises InvalidConfiguration if the server reports a text that is not a value.
    """
    elsewhere = not place.here
    hosts = (SMALL, LARGE) if elsewhere else (server.host,)
    judged = [_judged(replace(server, host=host), windows) for host in hosts]
    live, diagnosis, evidence = judged[0]
    found = [f for f in evidence.findings if f.ground in OF_THE_HOST]
    on_hardware: frozenset[str] = frozenset()
    if elsewhere:
        other = judged[1]
        found = [f for f in found if f in other[2].findings]
        diagnosis, on_hardware = _in_both(diagnosis, other[1])
    unknown = _unknown(live, diagnosis, windows, problems, place.doubt, on_hardware)
    return Judgement(live, diagnosis, evidence, tuple(found), tuple(unknown), elsewhere)


def _judged(server: Server, windows: Sequence[MeasuredWindow]) -> tuple[LiveSettings, Diagnosis, Evidence]:
    live = meet(server)
    diagnosis = diagnose(live, POLICY, windows)
    return live, diagnosis, assess(live, POLICY, diagnosis)


def _in_both(diagnosis: Diagnosis, other: Diagnosis) -> tuple[Diagnosis, frozenset[str]]:
    """What both say, and the names of the symptoms of which they say different things."""
    first, second = ({s.name: s for s in d.symptoms} for d in (diagnosis, other))
    apart = {n for n in first.keys() | second.keys() if not _alike(first.get(n), second.get(n))}
    apart |= {*diagnosis.not_judged} ^ {*other.not_judged}
    kept = tuple(
        replace(s, cures=tuple(_of_both(s.cures, second[s.name].cures)))
        for s in diagnosis.symptoms
        if s.name not in apart
    )
    not_judged = tuple(dict.fromkeys((*diagnosis.not_judged, *sorted(apart))))
    evaluated = diagnosis.evaluated + len(diagnosis.not_judged) - len(not_judged)
    return replace(diagnosis, symptoms=kept, not_judged=not_judged, evaluated=evaluated), frozenset(apart)


def _alike(symptom: Symptom | None, other: Symptom | None) -> bool:
    return (
        symptom is not None
        and other is not None
        and (symptom.kind, symptom.strength, symptom.measured, symptom.sentence)
        == (other.kind, other.strength, other.measured, other.sentence)
    )


def _of_both(one: Sequence[Cure], other: Sequence[Cure]) -> Iterator[Cure]:
    """A cure whose value depends on the hardware offers none."""
    values = {cure.setting: cure.after for cure in other}
    for cure in one:
        same = cure.after is not None and values.get(cure.setting) == cure.after
        unknown = "the value depends on the server's memory and processors, which are not known here"
        yield cure if same else replace(cure, after=None, after_text=None, obstacle=unknown)


def _unknown(
    live: LiveSettings,
    diagnosis: Diagnosis,
    windows: Sequence[MeasuredWindow],
    problems: Sequence[str],
    doubt: str,
    on_hardware: Iterable[str],
) -> Iterator[Unknown]:
    rows = {row.name: row for row in of_engine(live.server.engine)}
    reasons: dict[str, list[str]] = {}
    for name in diagnosis.not_judged:
        why = HARDWARE if name in on_hardware else _why(rows[name], live, windows, problems, doubt)
        reasons.setdefault(why, []).append(name)
    yield from (Unknown(why, tuple(names)) for why, names in reasons.items())


def _why(
    row: SymptomRow, live: LiveSettings, windows: Sequence[MeasuredWindow], problems: Sequence[str], doubt: str
) -> str:
    """Why a symptom could not be judged: by the first of its inputs that is not there."""
    read = [n for n in sorted(row.names) if n not in row.defaults]
    missing = [row.measured[n].metric for n in read if n in row.measured and row.measured[n].value(windows) is None]
    collectors = dict.fromkeys(metric.partition(".")[0] for metric in missing)
    if doubt and OF_THE_MACHINE in collectors:
        return doubt
    if problem := next((p for c in collectors for p in problems if p.startswith(f"{c}:")), ""):
        return problem
    seen = {metric.partition(".")[0] for window in windows for metric in window.metrics}
    if unseen := [c for c in collectors if c not in seen]:
        return f"this account does not see, or the server does not have, figures of {unseen[0]}"
    settings = [n for n in read if n in live.rows and n not in live.values]
    if settings and not missing:
        return f"the server does not report {settings[0]}"
    return NOTHING_OF_IT
