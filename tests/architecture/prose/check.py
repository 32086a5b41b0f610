"""Finds what breaks the style: private words, clauses as subjects and sentences that have to be read twice."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.architecture.prose.texts import GENERATED, Text

_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_SENTENCE = re.compile(r"(?<=[.!?;:·])\s+(?=[A-Z`\"(*\[])")
_MARKUP = re.compile(r"^[-*#>\s\d.]*")


@dataclass(frozen=True)
class Rule:
    """`pattern`, and what to write instead. `code`: identifiers are free of it, too, and stay so."""

    pattern: re.Pattern[str]
    instead: str
    code: bool = False


@dataclass(frozen=True)
class Style:
    words: tuple[Rule, ...]
    phrases: tuple[Rule, ...]
    openings: tuple[Rule, ...]
    longest_sentence: int


@cache
def style() -> Style:
    read = tomllib.loads((Path(__file__).parent / "style.toml").read_text())
    words, phrases = (
        tuple(_rule(rf"\b(?:{row['not']})\b", row) for row in read[kind]) for kind in ("words", "phrases")
    )
    openings = tuple(_rule(rf"(?:{row['not']})", row) for row in read["openings"])
    return Style(words, phrases, openings, read["longest_sentence"])


def _rule(pattern: str, row: dict[str, object]) -> Rule:
    return Rule(re.compile(pattern, re.IGNORECASE), str(row["instead"]), row.get("code", False) is True)


def private_words(texts: Iterable[Text], rules: tuple[Rule, ...] | None = None) -> list[str]:
    """Where a private word is, with what to write instead."""
    return [
        f"{text.place}: {hit[0]!r}: write {rule.instead}"
        for text in texts
        for rule in (_rules_for(text) if rules is None else rules)
        for hit in rule.pattern.finditer(text.text)
    ]


def _rules_for(text: Text) -> tuple[Rule, ...]:
    return style().words if text.recorded else (*style().words, *style().phrases)


def hard_sentences(texts: Iterable[Text]) -> list[str]:
    """Sentences whose subject is a clause, and those with too many words."""
    ours = (text for text in texts if not text.recorded and not text.place.startswith(GENERATED))
    return [fault for text in ours for fault in _faults(text)]


def _faults(text: Text) -> Iterator[str]:
    for sentence in sentences(text.text):
        if sentence.endswith("?") or sentence.startswith("#"):
            continue
        ended = sentence.endswith(".") or not text.whole
        for rule in style().openings:
            if ended and rule.pattern.match(_MARKUP.sub("", sentence)):
                yield f"{text.place}: {sentence[:60]!r}: begin with {rule.instead}"
        count = len([word for word in sentence.split() if re.search(r"\w", word)])
        if count > style().longest_sentence:
            yield f"{text.place}: {count} words: {sentence[:60]!r}"


def sentences(text: str) -> list[str]:
    """Code is one word each, a link is its text; a semicolon or a colon before a capital letter ends a sentence."""
    return [part.strip() for part in _SENTENCE.split(_plain(text)) if part.strip()]


def _plain(text: str) -> str:
    return _LINK.sub(r"\1", _CODE.sub("`code`", text))
