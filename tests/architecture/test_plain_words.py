"""The style of all texts: pages, notebooks, docstrings, help, REST descriptions, messages and catalogues; and private
words that code is free of."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.architecture.prose.check import hard_sentences, private_words, sentences, style
from tests.architecture.prose.texts import (
    Text,
    catalogues,
    docstrings,
    documentation,
    help_texts,
    identifiers,
    messages,
    rest_descriptions,
    words_of,
)

EVERYTHING = (documentation, docstrings, help_texts, rest_descriptions, messages, catalogues)


@pytest.mark.parametrize("texts", EVERYTHING)
def test_texts_use_plain_words(texts: Callable[[], Iterator[Text]]) -> None:
    assert private_words(texts()) == []


@pytest.mark.parametrize("texts", EVERYTHING)
def test_no_sentence_has_to_be_read_twice(texts: Callable[[], Iterator[Text]]) -> None:
    assert hard_sentences(texts()) == []


@pytest.mark.parametrize("texts", EVERYTHING)
def test_every_kind_of_text_is_found(texts: Callable[[], Iterator[Text]]) -> None:
    assert len(list(texts())) > 90


def test_identifiers_stay_free_of_the_words_that_they_are_free_of() -> None:
    assert private_words(identifiers(), tuple(rule for rule in style().words if rule.code)) == []


@pytest.mark.parametrize(
    "text",
    ["It was told twice.", "a way back", "Begin anew", "HEEDED", "taken back", "the load of now", "an id is no text"],
)
def test_a_private_word_is_seen(text: str) -> None:
    assert private_words([Text("here", text)])


@pytest.mark.parametrize(
    "text",
    [
        "standard",
        "backup",
        "give it back",
        "mention",
        "retold-free: retelling",
        "It is no longer there: there is no way.",
    ],
)
def test_other_words_are_left_alone(text: str) -> None:
    assert not private_words([Text("here", text)])


@pytest.mark.parametrize("text", ["What needs a restart waits.", "- Who reads it knows.", "One. Whoever asks gets it."])
def test_a_clause_as_a_subject_is_seen(text: str) -> None:
    assert hard_sentences([Text("here", text)])


@pytest.mark.parametrize(
    "text", ["What needs a restart?", "## What restarts need", "Ask what it needs.", "A whole day."]
)
def test_questions_and_headings_may_ask(text: str) -> None:
    assert not hard_sentences([Text("here", text)])


def test_a_long_sentence_is_seen_and_code_counts_as_one_word() -> None:
    long = " ".join(["word"] * (style().longest_sentence + 1))
    assert hard_sentences([Text("here", f"{long}.")])
    assert not hard_sentences([Text("here", f"Run `{long}`.")])
    assert sentences("One `a. B`. Two [of a](link.md) b: Three.") == ["One `code`.", "Two of a b:", "Three."]


def test_an_identifier_is_read_by_its_parts() -> None:
    assert words_of("WayBack") == "Way Back"
    assert words_of("_way_back").strip() == "way back"
