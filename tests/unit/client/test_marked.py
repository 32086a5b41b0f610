"""What an assistant is told: bounded, without control characters, and marked."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from lutra_client.assistants.marked import MARK, MOST, marked

texts = st.text(max_size=40)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=30,
)


def texts_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(t for part in value.values() for t in texts_in(part))]
    if isinstance(value, list):
        return [t for part in value for t in texts_in(part)]
    return [value] if isinstance(value, str) else []


@given(documents)
def test_no_text_keeps_a_character_that_nobody_sees(document: Any) -> None:
    found = marked({"rows": document})
    assert found["origin"] == MARK
    assert all(text.isprintable() for text in texts_in(found))


def test_a_small_answer_stays_whole() -> None:
    document = {"name": "shop", "sizes": [1, 2.5, None, True]}
    assert marked(document) == {"origin": MARK, "shortened": False, "data": document}


def test_a_large_answer_is_shortened_until_it_fits() -> None:
    for document in (
        {"rows": [{"query": "x" * 5_000, "calls": i} for i in range(500)]},
        {"text": "y" * 10**6},
        {f"k{i}": {f"z{j}": "t" * 90 for j in range(100)} for i in range(300)},
    ):
        found = marked(document)
        assert found["shortened"]
        assert len(json.dumps(found["data"])) <= MOST
        assert found["data"]


def test_what_no_bound_makes_small_enough_is_left_out() -> None:
    wide: Any = "x" * 60
    for _ in range(8):
        wide = [wide] * 4
    assert marked({"wide": wide})["data"] == {"left_out": "the answer is too large: ask for less"}


def test_what_is_nested_without_end_is_cut() -> None:
    deep: Any = "end"
    for _ in range(50):
        deep = {"more": deep}
    assert "left out: too deep" in json.dumps(marked(deep))
