"""What a real server answers to each question of the agent, twice: what grew in between grows on.

A question is a tuple: a statement and its parameters, or a command's words. An answer of SQL is the columns' names and
the rows; one of a command is text, a number or a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import zip_longest
from typing import Any

from lutra_agent.errors import CollectionFailed

Question = tuple[Any, ...]
Asks = Callable[[Question], Any]
"""Raises CollectionFailed and DatabaseUnavailable, as the agent's own connections do."""

LINE = re.compile(r"\r?\n")
SELECTED = re.compile(r"SELECT (.*?)(?:\bFROM pg_|$)", re.DOTALL)
NAMED = re.compile(r"(\w+)\s*$")
SYNTHETIC = 1000


@dataclass
class Heard:
    """Answers, or the errors in their place, by question: the first time, and the last."""

    first: dict[Question, Any] = field(default_factory=dict)
    last: dict[Question, Any] = field(default_factory=dict)
    _told: dict[tuple[Question, int], Any] = field(default_factory=dict)

    def recording(self, ask: Asks) -> Asks:
        def asked(question: Question) -> Any:
            try:
                answer = ask(question)
            except CollectionFailed as error:
                answer = error
            self.first.setdefault(question, answer)
            self.last[question] = answer
            return said(answer)

        return asked

    def answer(self, question: Question, turn: int) -> Any:
        """What the server would say at its `turn`; a view of another version has numbers in each of its columns."""
        if (question, turn) not in self._told:
            self._told[question, turn] = self._answer(question, turn)
        return self._told[question, turn]

    def _answer(self, question: Question, turn: int) -> Any:
        if question in self.first:
            return grown(self.first[question], self.last[question], turn)
        alike = next((q for q in self.first if q[0] == question[0] and len(q) == 2), None)
        return synthetic(question, turn) if alike is None else self.answer(alike, turn)


def said(answer: Any) -> Any:
    if isinstance(answer, Exception):
        raise answer
    return answer


def grown(one: Any, other: Any, turn: int) -> Any:
    """On a line through both, wherever there are two numbers."""
    if type(one) is not type(other) or one == other or isinstance(one, bool):
        return other
    if isinstance(one, list | tuple):
        pairs = zip_longest(one, other[: len(one)]) if len(one) <= len(other) else zip(one, other, strict=False)
        return type(one)(grown(a, b, turn) for a, b in pairs)
    if isinstance(one, int | float | Decimal):
        return one + (other - one) * turn
    return grown_text(one, other, turn) if isinstance(one, str) else other


def grown_text(one: str, other: str, turn: int) -> str:
    lines, later = LINE.split(one), LINE.split(other)
    if len(lines) > 1:
        return "\r\n".join(grown_line(a, b, turn) for a, b in zip(lines, later, strict=False))
    return grown_line(one, other, turn)


def grown_line(one: str, other: str, turn: int) -> str:
    name, colon, value = other.rpartition(":")
    was = one.rpartition(":")[2]
    if was.isdigit() and value.isdigit():
        return f"{name}{colon}{int(was) + (int(value) - int(was)) * turn}"
    return other


def synthetic(question: Question, turn: int) -> Any:
    """A row of numbers for a view that the server which was heard has not. Raises CollectionFailed for other things."""
    found = SELECTED.match(str(question[0]))
    if found is None:
        raise CollectionFailed("nobody heard an answer to this")
    names = [m[1] for part in at_depth_0(found[1]) if (m := NAMED.search(part.strip()))]
    return names, [tuple(SYNTHETIC * (turn + n) for n, _ in enumerate(names))]


def at_depth_0(text: str) -> Sequence[str]:
    """Its parts between the commas that are in no bracket."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
