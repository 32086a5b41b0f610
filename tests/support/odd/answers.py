"""A server that answers as a real one did, but for a few things: any cell, any row, any answer, any time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from lutra_agent.errors import CollectionFailed, DatabaseUnavailable

from tests.support.odd.heard import Heard, Question, said

MEGABYTE = "x" * (1 << 20)
CONTROLS = "\x1b[31mred\x07\r\nnext\x00"
TEXTS = ("", "odd", "none", "auto", "5%", "-1", "nan", "inf", "-inf", "1e400", "12 parsecs", "0x10", "²", "café\udce9",
         "\u202egnirts", CONTROLS, "7" * 400, "3.5", "ON", "1,2", "18446744073709551616")  # fmt: skip
VALUES = (None, True, 0, -1, -3.5, 2**64, 2**200, float("nan"), float("inf"), -float("inf"), 1e300, Decimal("NaN"),
          Decimal("1E+40"), b"", b"\xff\xfe", b"12", (), [1, "x"], {"a": 1})  # fmt: skip
VERSIONS = {
    "postgresql": (120022, 130014, 140011, 150000, 160000, 170002, 180000, 180001, 190000, 90600, -1, "180000", None),
    "mysql": ("8.0.36-0ubuntu0.22.04.1", "8.0.32-24.1", "8.4.0-commercial", "9.1.0", "5.7.44-log", "8.0.11-TiDB-v7.5",
              "9.7.4-rc1", "10.0.0-debug", "", "unknown", "8", None),
    "mariadb": ("10.5.23-MariaDB-log", "10.6.16-MariaDB-1:10.6", "10.11.6-MariaDB-enterprise", "11.4.2-MariaDB-ubu2404",
                "12.0.1-MariaDB", "5.5.5-10.11.6-MariaDB", "11-MariaDB", "MariaDB", "", None),
    "redis": ("6.0.16", "6.2.14", "7.0.15", "7.2.4", "7.9.240", "8.0.0", "8.2-rc1", "255.255.255", "6", "unstable", ""),
    "valkey": ("7.2.5", "8.0.1", "8.1.0-rc1", "9.1.2", "255.255.255", "unstable", ""),
    "pika": ("3.3.6", "3.5.5", "4.0.0", "v4.0.1", "unstable", ""),
}  # fmt: skip
REFUSALS = {
    "postgresql": ("permission denied for view v [42501]", 'column "c" does not exist [42703]',
                   'relation "r" does not exist [42P01]', "canceling statement due to statement timeout [57014]",
                   "invalid byte sequence for encoding [22021]", f"odd {CONTROLS} [XX000]"),
    "mysql": ("SELECT command denied to user [1142]", "Table 'r' doesn't exist [1146]", "Unknown variable [1193]",
              "Query execution was interrupted [3024]", "Access denied [1227]", f"odd {CONTROLS} [1105]"),
    "redis": ("NOPERM this user has no permissions", "ERR unknown command", "ERR syntax error", "BUSY running a script",
              f"ERR {CONTROLS}"),
}  # fmt: skip
FAMILY = {"mariadb": "mysql", "valkey": "redis", "pika": "redis"}

TAG = "refusal-"
"""Each has a number, so that it is known where it is named."""

Change = Callable[[Any], Any]


@dataclass
class Oddity:
    """What happens to the answers to one question, from one turn on, or at one turn alone."""

    question: Question
    kind: str
    what: str
    change: Change
    since: int = 0
    until: int = 1 << 30

    @property
    def always(self) -> bool:
        return not self.since and self.until > 99

    def __str__(self) -> str:
        when = "always" if self.always else f"turns {self.since} to {self.until}"
        return f"{self.what[:60]!r} in {str(self.question)[:90]!r}, {when}"


@dataclass
class OddServer:
    """`turns` counts the answers to each question; `met` are the oddities that the agent came to."""

    heard: Heard
    oddities: Sequence[Oddity]
    turns: dict[Question, int] = field(default_factory=dict)
    met: list[Oddity] = field(default_factory=list)

    def ask(self, question: Question) -> Any:
        turn = self.turns[question] = self.turns.get(question, -1) + 1
        answer = self.heard.answer(question, turn)
        for oddity in self.oddities:
            applies = oddity.question == question and oddity.since <= turn <= oddity.until
            if applies and not isinstance(answer, Exception):
                self.met.append(oddity)
                answer = oddity.change(answer)
        return said(answer)


def oddities(engine: str, heard: Heard, chance: random.Random, kinds: Sequence[str]) -> list[Oddity]:
    weights = [WEIGHTS[kind] for kind in kinds]
    count = chance.choice((1, 1, 2, 4))
    made = [_oddity(engine, heard, chance, kind) for kind in chance.choices(kinds, weights, k=count)]
    if chance.random() < 0.2:
        made.append(_version(engine, heard, chance))
    return made


def _oddity(engine: str, heard: Heard, chance: random.Random, kind: str) -> Oddity:
    statement = chance.choice(sorted({str(q[0]) for q in heard.first}))
    question = chance.choice(sorted((q for q in heard.first if q[0] == statement), key=str))
    since, until = chance.choice(((0, 1 << 30), (0, 1 << 30), (1, 1 << 30), (1, 1), (2, 2), (2, 1 << 30)))
    what, change = KINDS[kind](FAMILY.get(engine, engine), chance)
    return Oddity(question, kind, what, change, since, until)


def _version(engine: str, heard: Heard, chance: random.Random) -> Oddity:
    version = chance.choice(VERSIONS[engine])
    starts = {"postgresql": "SELECT current_setting('server_version_num')", "mysql": "SELECT VERSION()"}
    family = FAMILY.get(engine, engine)
    if family == "redis":
        question: Question = ("INFO", "server")
        return Oddity(
            question, "version", f"version {version!r}", lambda text: _with_line(text, f"{engine}_version", version)
        )
    question = next(q for q in heard.first if str(q[0]).startswith(starts[family]))

    def change(answer: Any) -> Any:
        names, rows = answer
        return names, [(version, *row[1:]) for row in rows]

    return Oddity(question, "version", f"version {version!r}", change)


def _refused(family: str, chance: random.Random) -> tuple[str, Change]:
    error = CollectionFailed(f"{chance.choice(REFUSALS[family])} {TAG}{chance.getrandbits(32)}")
    return str(error), lambda answer: error


def _gone(family: str, chance: random.Random) -> tuple[str, Change]:
    return "gone", lambda answer: DatabaseUnavailable("the connection was reset")


def _cell(family: str, chance: random.Random) -> tuple[str, Change]:
    value = MEGABYTE if chance.random() < 0.01 else chance.choice((*TEXTS, *(() if family == "redis" else VALUES)))
    place = chance.random()
    return f"{str(value)[:40]!r} in a cell", lambda answer: replaced(answer, value, place)


def _number(family: str, chance: random.Random) -> tuple[str, Change]:
    """A counter that falls or overflows: the first number from this place on."""
    factor, place = chance.choice((0, 0.5, -1, 10**30)), chance.random()
    return f"a number times {factor}", lambda answer: replaced(answer, factor, place, times=True)


def _rows(family: str, chance: random.Random) -> tuple[str, Change]:
    what, place = chance.choice(("none", "less", "twice", "narrow", "wide")), chance.random()
    return f"rows: {what}", lambda answer: reshaped(answer, what, place)


KINDS: dict[str, Callable[[str, random.Random], tuple[str, Change]]] = {
    "cell": _cell, "number": _number, "rows": _rows, "refused": _refused, "gone": _gone,
}  # fmt: skip
WEIGHTS = {"cell": 8, "number": 3, "rows": 3, "refused": 6, "gone": 1}


def replaced(answer: Any, value: Any, place: float, times: bool = False) -> Any:
    """With one cell, or the value of one line, that is `value` (or so many times the number that it was)."""
    if isinstance(answer, str):
        lines = answer.split("\r\n")
        at = int(place * len(lines))
        name, colon, old = lines[at].partition(":")
        lines[at] = f"{name}{colon}{_times(old, value) if times else value}"
        return "\r\n".join(lines)
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], list):
        names, rows = answer
        return names, _in_row(rows, value, place, times)
    return (
        _in_row(answer, value, place, times) if isinstance(answer, list) else _times(answer, value) if times else value
    )


def _in_row(rows: list[Any], value: Any, place: float, times: bool) -> list[Any]:
    if not rows:
        return rows
    at = int(place * len(rows))
    row = rows[at]
    if isinstance(row, list | tuple) and row:
        within = int(place * len(rows) * len(row)) % len(row)
        cell = _times(row[within], value) if times else value
        row = type(row)((*row[:within], cell, *row[within + 1 :]))
    else:
        row = _times(row, value) if times else value
    return [*rows[:at], row, *rows[at + 1 :]]


def _times(old: Any, factor: float) -> Any:
    if isinstance(old, int | float) and not isinstance(old, bool):
        return old * factor
    if isinstance(old, Decimal):
        return old * Decimal(factor)
    return str(int(int(old) * factor)) if isinstance(old, str) and old.isdecimal() else old


def reshaped(answer: Any, what: str, place: float) -> Any:
    if isinstance(answer, str):
        return "\r\n".join(reshaped(answer.split("\r\n"), what, place))
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], list):
        names, rows = answer
        if what == "narrow":
            return names[:-1], [row[:-1] for row in rows]
        if what == "wide":
            return [*names, "more"], [(*row, 1) for row in rows]
        return names, reshaped(rows, what, place)
    if not isinstance(answer, list) or not answer:
        return answer
    at = int(place * len(answer))
    return {"none": [], "less": answer[:at], "twice": [*answer, *answer[at:]]}.get(what, answer)


def _with_line(text: str, name: str, value: str) -> str:
    lines = [line for line in text.split("\r\n") if not line.startswith(f"{name}:")]
    return "\r\n".join([*lines, f"{name}:{value}"])
