"""The list of findings: what is accepted comes last, what a script is told, and what no text can break."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import pytest
from lutra_models.symptoms import Diagnosis
from lutra_models.symptoms.listed import Acceptance, Episode, fail_on, junit, lines, listed, status

from tests.unit.symptoms.case import Case
from tests.unit.symptoms.cases import CASES

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=30)
HOUR = timedelta(hours=1)


def case(name: str) -> Case:
    return next(c for c in CASES if c.name == name)


FORCED = case("checkpoints_forced")
OFF = case("autovacuum_off_for_tables")


def document(of: Case = FORCED, *accepted: Acceptance, **episodes: Episode) -> dict[str, Any]:
    return listed(of.diagnosis(of.shown), of.server.engine, NOW, accepted, episodes)


def names(found: dict[str, Any]) -> list[str]:
    return [s["name"] for s in found["symptoms"]]


def one(found: dict[str, Any], name: str) -> dict[str, Any]:
    made: dict[str, Any] = next(s for s in found["symptoms"] if s["name"] == name)
    return made


def test_an_accepted_risk_comes_last_with_its_reason_and_fails_nothing() -> None:
    free = document()
    assert names(free)[0] == FORCED.name
    assert status(free, "fault") == 1
    held = document(FORCED, Acceptance(FORCED.name, "a load test", LATER, "fault", "anna"))
    assert names(held)[-1] == FORCED.name
    assert one(held, FORCED.name)["accepted"] == {"because": "a load test", "until": LATER.isoformat(), "by": "anna"}
    told = list(lines(held))
    assert told.index("      accepted by anna until 2026-03-31 12:00 UTC: a load test") > len(told) / 3
    assert next(line for line in told if line.startswith("accepted  fault checkpoints_forced: 38 of 41"))
    others = [s for s in held["symptoms"] if s["accepted"] is None and s["kind"] in ("outage", "danger", "fault")]
    assert (status(held, "fault") == 1) is bool(others)


@pytest.mark.parametrize(
    ("acceptance", "holds"),
    [
        (Acceptance("x", "b", LATER), True),
        (Acceptance("x", "b", NOW), False),
        (Acceptance("y", "b", LATER), False),
        (Acceptance("x", "b", LATER, "fault"), True),
        (Acceptance("x", "b", LATER, "outage"), True),
        (Acceptance("x", "b", LATER, "elsewhere"), False),
        (Acceptance("x", "b", LATER, "note"), False),
    ],
)
def test_it_counts_again_when_its_time_is_over_or_its_kind_is_worse(acceptance: Acceptance, holds: bool) -> None:
    assert acceptance.holds("x", "fault", NOW) is holds


def test_since_when_it_shows_is_told_and_what_is_gone_fails_nothing() -> None:
    shows = document(FORCED, **{FORCED.name: Episode(NOW - HOUR)})
    assert any(line.endswith("(since 2026-03-01 11:00 UTC)") for line in lines(shows))
    assert status(shows, "fault") == 1
    gone = document(FORCED, **{FORCED.name: Episode(NOW - HOUR, NOW)})
    assert any("since 2026-03-01 11:00 UTC, gone since 2026-03-01 12:00 UTC" in line for line in lines(gone))
    assert status({**gone, "symptoms": [one(gone, FORCED.name)], "not_judged": []}, "fault") == 0


@pytest.mark.parametrize(
    ("kind", "strength", "threshold", "expected"),
    [
        ("outage", 0.3, "danger", 1),
        ("danger", 0.3, "danger", 1),
        ("fault", 1.0, "danger", 0),
        ("fault", 0.5, "fault", 1),
        ("note", 1.0, "note", 1),
        ("fault", 0.5, "0.5", 1),
        ("fault", 0.5, "0.6", 0),
        ("note", 1.0, "0.1", 0),
        ("enough", 1.0, "0", 0),
    ],
)
def test_a_threshold_is_a_kind_or_a_strength(kind: str, strength: float, threshold: str, expected: int) -> None:
    found = document()
    only = {**found["symptoms"][0], "kind": kind, "strength": strength}
    assert status({**found, "symptoms": [only], "not_judged": []}, fail_on(threshold)) == expected


@pytest.mark.parametrize("wrong", ["", "bad", "-0.1", "1.5", "nan"])
def test_another_threshold_is_refused_with_what_there_is(wrong: str) -> None:
    with pytest.raises(ValueError, match="outage, danger, fault"):
        fail_on(wrong)


def test_what_could_not_be_judged_is_not_clean() -> None:
    nothing = Diagnosis((), 3, 30.0, 5, ("row_locks",))
    found = listed(nothing, "postgresql", NOW)
    assert found["not_judged"] == [{"name": "row_locks", "kind": "elsewhere", "accepted": None}]
    assert [status(found, t) for t in ("danger", "fault", "elsewhere", "0.5")] == [0, 0, 2, 2]
    accepted = listed(nothing, "postgresql", NOW, [Acceptance("row_locks", "no rights", LATER)])
    assert status(accepted, "elsewhere") == 0
    assert status(listed(Diagnosis((), 0, 0.0), "postgresql", NOW), "danger") == 2


def test_a_report_in_xml_has_a_case_for_each_finding_whatever_its_text() -> None:
    odd = {"tables.off_names": '"<b>&\x00]]>"'}
    case_ = Case(**{**vars(OFF), "texts": odd, "says": ""})
    found = document(case_, Acceptance("row_locks", "<no> \x1brights", LATER))
    parsed = ElementTree.fromstring(junit(found, "elsewhere"))
    failed = {c.get("name"): c.find("failure") for c in parsed.iter("testcase")}
    assert failed[OFF.name] is not None
    assert '"<b>&?]]>"' in str(failed[OFF.name].get("message"))  # type: ignore[union-attr]
    assert parsed.get("failures") == str(len([f for f in failed.values() if f is not None]))
    assert int(str(parsed.get("errors"))) > 0
    assert parsed.get("tests") == str(len(failed))
    clean = ElementTree.fromstring(junit(listed(Diagnosis((), 3, 30.0), "postgresql", NOW), "danger"))
    assert (clean.get("tests"), clean.get("failures"), clean.get("errors")) == ("1", "0", "0")


def test_the_document_is_json_and_its_lines_are_printable() -> None:
    found = document(OFF, Acceptance("sorts_spill", "x\x1b[2J", LATER, by="a\nb"))
    assert json.loads(json.dumps(found)) == found
    assert all(line == "" or line.isprintable() for line in lines(found))
