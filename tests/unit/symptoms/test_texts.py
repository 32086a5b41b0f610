"""Rows that tell names: where they come from, and what of them reaches a statement."""

from __future__ import annotations

from typing import Any

import pytest
from lutra_models.catalog import meet
from lutra_models.server import Policy
from lutra_models.symptoms import MeasuredWindow, Symptom, diagnose
from lutra_models.symptoms.rows import from_document
from lutra_models.symptoms.sentences import statements, told

from tests.unit.symptoms.cases import CASES

CASE = next(c for c in CASES if c.name == "autovacuum_off_for_tables")


def seen(texts: dict[str, str]) -> Symptom:
    window = MeasuredWindow(60.0, CASE.of(CASE.shown).metrics, texts)
    found = diagnose(meet(CASE.server), Policy(), [window]).symptoms
    return next(s for s in found if s.name == CASE.name)


def test_a_finding_without_its_names_is_told_without_them() -> None:
    found = seen({})
    assert "would have run: 2, with" in found.sentence
    assert found.statements[0] == "ALTER TABLE <name> RESET (autovacuum_enabled);"


def test_a_text_that_is_no_name_reaches_no_statement() -> None:
    found = seen({"tables.off_names": 'a; DROP TABLE b; --, "c'})
    assert all("DROP" not in s for s in found.statements)
    assert found.statements[-1] == "VACUUM (ANALYZE) <name>;"


def test_a_word_of_a_statement_is_plain_or_left_to_the_person() -> None:
    text = "SELECT pg_drop_replication_slot('{slot:text}');"
    assert statements(text, {"slot": "standby_2"}, {"slot"}) == ("SELECT pg_drop_replication_slot('standby_2');",)
    odd = {"slot": "x'); DROP TABLE y; --"}
    assert statements(text, odd, {"slot"}) == ("SELECT pg_drop_replication_slot('<name>');",)


def test_what_comes_from_settings_is_told_word_by_word() -> None:
    assert statements("RESET {names:each};", {"names": "a b"}) == ("RESET a;", "RESET b;")


def test_an_aside_is_nothing_without_names() -> None:
    assert told("2 tables{n:aside} fill", {"n": ""}) == "2 tables fill"
    assert told("2 tables{n:aside} fill", {"n": "a, b"}) == "2 tables (a, b) fill"


def row(**more: Any) -> dict[str, Any]:
    entry = {
        "name": "x",
        "kind": "note",
        "group": "g",
        "meaning": "m",
        "measure": "n",
        "begins": "1",
        "full": "2",
        "sentence": "{names:text} {n:count}.",
        "threshold": "t.",
        "source": "https://example.org",
        **more,
    }
    metrics = {"n": "newest of a.n", "names": "text of a.names"}
    return {"engines": ["postgresql"], "metrics": metrics, "symptom": [entry]}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"statements": ["DROP {names:list}"]}, "in the form 'list'"),
        ({"statements": ["DROP '{names:each}'"]}, "in quotes"),
        ({"numbers": {"both": "'a' + names"}, "statements": ["DROP {both:text}"]}, "made of a text"),
        ({"numbers": {"a": "names", "both": "a + 'b'"}, "statements": ["DROP {both:text}"]}, "made of a text"),
    ],
)
def test_a_row_that_would_put_a_text_into_a_statement_unseen_is_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        from_document(row(**more))


def test_a_row_may_tell_a_text_and_execute_what_is_looked_at() -> None:
    (found,) = from_document(row(statements=["DROP {names:each}", "SELECT '{names:text}'"]))
    assert found.untrusted == {"names"}
