"""Names that come from a database: one line each, and no more than a name in a statement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_models.metrics import LONGEST_TEXT, MOST_TEXTS, bounded, one_line
from lutra_models.symptoms.sentences import identifiers, is_plain


@given(st.text(max_size=500))
def test_a_line_is_printable_and_short_whatever_the_text(text: str) -> None:
    found = one_line(text)
    assert len(found) <= LONGEST_TEXT
    assert found == "" or found.isprintable()
    assert one_line(found) == found


@pytest.mark.parametrize("mark", ["\n", "\r", "\x1b", "\x00", "\u202e", "\u2066", "\u200f", "\ud800", "\x9b"])
def test_what_a_terminal_might_obey_is_replaced(mark: str) -> None:
    assert one_line(f"a{mark}b") == "a?b"


def test_a_window_has_so_many_texts_and_no_more() -> None:
    found = bounded({f"t{n}": "x" * 1000 for n in range(1000)})
    assert list(found) == [f"t{n}" for n in range(MOST_TEXTS)]
    assert found["t0"] == "x" * 199 + "…"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("orders", ("orders",)),
        ("shop.orders, lines", ("shop.orders", "lines")),
        ('"Old, or new"."a""b", t', ('"Old, or new"."a""b"', "t")),
        ("`a``b`.c", ("`a``b`.c",)),
        ("größe", ("größe",)),
        ("", None),
        ("a; DROP TABLE b", None),
        ('"a"; DROP TABLE b; --"', None),
        ('"a, b', None),
        ('"a"b"', None),
        ("a, b -- c", None),
        ("a,b", None),
        ("x" * 199 + "…", None),
    ],
)
def test_a_list_of_identifiers_is_taken_apart_only_where_it_is_one(text: str, names: tuple[str, ...] | None) -> None:
    assert identifiers(text) == names


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("standby-2.lan", True),
        ("dr_1", True),
        ("", False),
        ("it's", False),
        ("a--b", False),
        ("a b", False),
        ("a\\", False),
        ('"a"', False),
        ("a;b", False),
    ],
)
def test_only_a_plain_word_may_stand_anywhere_in_a_statement(text: str, plain: bool) -> None:
    assert is_plain(text) is plain


@given(st.text(alphabet="ab\", .;-'`", max_size=12))
def test_what_is_taken_apart_has_no_statement_of_its_own(text: str) -> None:
    for name in identifiers(text) or ():
        outside = "".join(name.split('"')[::2]) if '"' in name else name
        assert not set(outside) & set("; ") or "`" in name
