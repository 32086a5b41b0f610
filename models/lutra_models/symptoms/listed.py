"""The list of findings, the same wherever it is read: one document, its lines, a status for scripts, a JUnit report.

Risks that a person has accepted come last, and fail nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, get_args
from xml.etree import ElementTree

from lutra_models.errors import printable
from lutra_models.symptoms.diagnosis import Diagnosis, Symptom
from lutra_models.symptoms.rows import Kind, of_engine

Document = Mapping[str, Any]
ORDER: tuple[Kind, ...] = get_args(Kind)
"""The most harmful kind first."""
HARMFUL: tuple[Kind, ...] = ("outage", "danger", "fault", "elsewhere")
"""The kinds whose strength measures the harm."""
FAIL_ON: Kind = "danger"
CLEAN, FOUND, NOT_JUDGED = 0, 1, 2
"""Exit statuses."""
PARTS = (
    "name",
    "kind",
    "group",
    "strength",
    "sentence",
    "measured",
    "numbers",
    "settings",
    "cures",
    "statements",
    "threshold",
    "source",
    "follows",
)
"""The fields of a symptom in the document, as the symptom has them."""


@dataclass(frozen=True)
class Acceptance:
    """A person accepts the risk of a finding, with a reason and for a limited time. `kind` is the finding's kind at
    that time: if the kind becomes worse, the finding counts again. None for any kind.
    """

    finding: str
    because: str
    until: datetime
    kind: Kind | None = None
    by: str = ""

    def holds(self, finding: str, kind: Kind, now: datetime) -> bool:
        same = finding == self.finding and now < self.until
        return same and (self.kind is None or ORDER.index(kind) >= ORDER.index(self.kind))


@dataclass(frozen=True)
class Episode:
    """The time since which a finding is present, and the time at which it disappeared; None while it is present."""

    since: datetime
    gone_at: datetime | None = None


def kinds_of(engine: str) -> dict[str, Kind]:
    """Finding → kind, of all known findings of an engine."""
    return {row.name: row.kind for row in of_engine(engine)}


def listed(
    found: Diagnosis,
    engine: str,
    now: datetime,
    accepted: Sequence[Acceptance] = (),
    episodes: Mapping[str, Episode] | None = None,
    span: tuple[datetime | None, datetime | None] = (None, None),
) -> dict[str, Any]:
    """The document, of values that JSON has; `span` is the first and the last moment of the windows."""
    kinds, known = kinds_of(engine), episodes or {}
    told = [_finding(s, _accepted(s.name, s.kind, accepted, now), known.get(s.name)) for s in found.symptoms]
    start, end = span
    return {
        "start": _text(start),
        "end": _text(end),
        "windows": found.windows,
        "seconds": found.seconds,
        "evaluated": found.evaluated,
        "symptoms": sorted(told, key=lambda t: t["accepted"] is not None),
        "not_judged": [
            {"name": name, "kind": kinds[name], "accepted": _accepted(name, kinds[name], accepted, now)}
            for name in found.not_judged
        ],
    }


def _finding(symptom: Symptom, accepted: Document | None, episode: Episode | None) -> dict[str, Any]:
    whole = _plain(asdict(symptom))
    times = {
        "since": None if episode is None else _text(episode.since),
        "gone_at": None if episode is None else _text(episode.gone_at),
    }
    return {**{name: whole[name] for name in PARTS}, **times, "accepted": accepted}


def _accepted(name: str, kind: Kind, accepted: Sequence[Acceptance], now: datetime) -> dict[str, Any] | None:
    held = next((a for a in accepted if a.holds(name, kind, now)), None)
    if held is None:
        return None
    return {"because": printable(held.because), "until": _text(held.until), "by": printable(held.by)}


def _plain(value: Any) -> Any:
    """As JSON has it: lists in place of tuples."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat()


def fail_on(text: str) -> str:
    """A kind, or a strength from 0 to 1. Raises ValueError."""
    if text in ORDER:
        return text
    try:
        strength = float(text)
    except ValueError:
        strength = -1.0
    if not 0 <= strength <= 1:
        raise ValueError(f"{text!r} is neither a strength from 0 to 1 nor one of {', '.join(ORDER)}")
    return text


def counts(kind: str, strength: float, threshold: str) -> bool:
    """Whether a finding is at the threshold or above it: of this kind or a worse one, or of this strength."""
    if threshold in ORDER:
        return kind in ORDER[: ORDER.index(threshold) + 1]
    return kind in HARMFUL and strength >= float(threshold)


def status(document: Document, threshold: str) -> int:
    """The status for a script: 1 if a finding reaches the threshold, 2 if something of that kind could not be
    judged.
    """
    if any(_fails(s, threshold) for s in document["symptoms"]):
        return FOUND
    unjudged = any(_unjudged(n, threshold) for n in document["not_judged"])
    return NOT_JUDGED if unjudged or not document["windows"] else CLEAN


def worst(document: Document) -> Document | None:
    """The most harmful finding that shows now and that nobody accepted."""
    shown = [s for s in document["symptoms"] if s["accepted"] is None and s["gone_at"] is None]
    return min(shown, key=lambda s: (ORDER.index(s["kind"]), -s["strength"]), default=None)


def _fails(symptom: Document, threshold: str) -> bool:
    now = symptom["accepted"] is None and symptom["gone_at"] is None
    return now and counts(symptom["kind"], symptom["strength"], threshold)


def _unjudged(row: Document, threshold: str) -> bool:
    return row["accepted"] is None and counts(row["kind"], 1.0, threshold)


def lines(document: Document) -> Iterator[str]:
    """For a terminal, unbroken and printable: the most harmful first, accepted risks last."""
    yield f"{document['windows']} windows, {document['seconds']:.0f} s"
    shown = [s for s in document["symptoms"] if s["accepted"] is None]
    for symptom in shown:
        yield ""
        yield printable(f"{symptom['strength']:.2f}  {_head(symptom)}: {symptom['sentence']}{_times(symptom)}")
        yield from (printable(f"      {line}") for line in (*map(_cure, symptom["cures"]), *symptom["statements"]))
    if not shown:
        yield "no symptoms"
    for symptom in document["symptoms"]:
        if symptom["accepted"] is not None:
            yield ""
            yield printable(f"accepted  {_head(symptom)}: {symptom['sentence']}{_times(symptom)}")
            yield printable(f"      {_risk(symptom['accepted'])}")
    if document["not_judged"]:
        yield ""
        names = ", ".join(n["name"] for n in document["not_judged"])
        yield printable(f"not judged because an input is missing: {names}")


def _head(symptom: Document) -> str:
    return f"{symptom['kind']} {symptom['name']}"


def _times(symptom: Document) -> str:
    if symptom["since"] is None:
        return ""
    gone = "" if symptom["gone_at"] is None else f", gone since {_short(symptom['gone_at'])}"
    return f" (since {_short(symptom['since'])}{gone})"


def _short(moment: str) -> str:
    return f"{datetime.fromisoformat(moment).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _risk(accepted: Document) -> str:
    by = f" by {accepted['by']}" if accepted["by"] else ""
    return f"accepted{by} until {_short(accepted['until'])}: {accepted['because']}"


def _cure(cure: Document) -> str:
    if cure["after"] is None:
        return f"{cure['setting']} stays at {cure['before_text']}: {cure['obstacle']}"
    was = f", set in {cure['set_by']}" if cure["set_by"] else ""
    bound = f" (limited: {cure['obstacle']})" if cure["obstacle"] else ""
    but = f" (not for {cure['unreached']}, which have their own values)" if cure["unreached"] else ""
    change = f"{cure['setting']} {cure['before_text']} → {cure['after_text']} ({cure['applies']}{was})"
    return f"{change}: {cure['reason']}{bound}{but}"


def junit(document: Document, threshold: str) -> str:
    """A test case for each finding, in XML: failed at the threshold, skipped if it is accepted, an error if it could
    not be judged.
    """
    suite = ElementTree.Element("testsuite", name="lutra")
    for symptom in document["symptoms"]:
        words = printable(symptom["sentence"])
        case = ElementTree.SubElement(suite, "testcase", classname=symptom["kind"], name=symptom["name"])
        if symptom["accepted"] is not None:
            ElementTree.SubElement(case, "skipped", message=printable(_risk(symptom["accepted"])))
        elif _fails(symptom, threshold):
            failure = ElementTree.SubElement(case, "failure", message=words, type=symptom["kind"])
            failure.text = "\n".join(
                printable(line) for line in (*map(_cure, symptom["cures"]), *symptom["statements"])
            )
        else:
            ElementTree.SubElement(case, "system-out").text = words
    for row in document["not_judged"]:
        if _unjudged(row, threshold):
            case = ElementTree.SubElement(suite, "testcase", classname=row["kind"], name=row["name"])
            ElementTree.SubElement(case, "error", message="not judged: something that it reads is missing")
    if not len(suite):
        ElementTree.SubElement(suite, "testcase", classname="lutra", name="no finding")
    for name, kind in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(1 for _ in suite.iter(kind))))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"
