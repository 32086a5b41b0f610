"""Turns lines of a log into durations. Anybody who may run statements writes into it, so its texts are only
compared.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Literal

Part = Literal["begin", "end", "other", "before"]
"""The role of a statement in its transaction; `before` is a step of the protocol ahead of an execution."""

Fields = tuple[str, int, str]
"""Message, process, time."""

Parse = Callable[[list[str]], Iterator["Duration"]]

MESSAGE = re.compile(r"duration: (\d{1,12}\.\d{3}) ms(?:$|  (statement|parse|bind|execute|fastpath)[^:]*: ?(.*))")
BEGINS = re.compile(r"\s*(begin|start\s+transaction)\b", re.IGNORECASE)
ENDS = re.compile(r"\s*(commit|end|rollback(?!\s+to)|abort)\b", re.IGNORECASE)
LONGEST_RECORD = 1 << 20
DIGITS = len(str(LONGEST_RECORD))

NAME = r'(?:"(?:[^"]|"")*+")?+'
ROW = re.compile(rf'\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{{3}} [^",\n]{{1,40}},{NAME},{NAME},\d{{1,20}},"[^"]')
"""The start of a session's record in a csvlog. Between quotes, where a client writes, all quotes are doubled."""
SAID = "LOG:  "
SEVERITY = re.compile(r"[^\W\d_a-z]:  ")
"""The end of a severity's name, in any language of a server's messages."""
ZONE = r"(?:[A-Za-z]{1,40}+|[+-]\d{2,6}+)"
SECOND = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
ESCAPES = {
    "m": rf"(?P<at>{SECOND}\.\d{{3}}) {ZONE}",
    "n": r"(?P<epoch>\d{1,20}+\.\d{3})",
    "p": r"(?P<pid>\d{1,20}+)",
    "t": f"{SECOND} {ZONE}",
    "s": f"{SECOND} {ZONE}",
    "l": r"\d{1,20}+",
    "c": r"[0-9a-f]{1,20}+\.[0-9a-f]{1,20}+",
    "x": r"\d{1,20}+",
    "e": r"[0-9A-Z]{5}",
    "%": "%",
    "q": "",
}
"""The beginning of a session's line by `log_line_prefix`, if no client chooses it. All others may contain anything."""


@dataclass(frozen=True)
class Duration:
    """One duration: of the backend `pid`, which logged it at `at_s`. Both are 0 if the log does not contain them."""

    ms: float
    part: Part = "other"
    pid: int = 0
    at_s: float = 0.0


def parser(form: str, prefix: str, bare: bool) -> Parse:
    """For lines of a format. With `bare`, a duration without its statement belongs to no session: log_duration wrote
    it.
    """
    fields_of = {"jsonlog": _json_fields, "csvlog": _csv_fields}.get(form)
    return _plain(prefix, bare) if fields_of is None else _fielded(fields_of, bare)


class Records:
    """Splits appended text of a log into records, and keeps the last one, which is still being written.

    Reads each character once, and keeps at most LONGEST_RECORD of them: a longer record is left out.
    """

    def __init__(self, form: str) -> None:
        self.form = form
        self._lines: list[str] = []
        self._line: list[str] = []
        self._size = 0
        self._quoted = self._odd = self._dropped = False

    def ended(self, appended: str) -> list[str]:
        """The records that this text completes."""
        *ends, rest = appended.split("\n")
        found = []
        for end in ends:
            self._keep(end)
            self._end_line()
            if not self._quoted:
                found += [] if self._dropped else ["\n".join(self._lines)]
                self._lines, self._size, self._dropped = [], 0, False
        self._keep(rest)
        return found

    def _keep(self, part: str) -> None:
        self._line.append(part)
        self._size += len(part)
        self._odd ^= self.form == "csvlog" and part.count('"') % 2 == 1
        if self._size > LONGEST_RECORD:
            self._lines, self._line, self._size, self._dropped = [], [], 0, True

    def _end_line(self) -> None:
        line = "".join(self._line)
        if self._quoted and ROW.match(line):
            # No text between quotes looks so: reading had begun amid a record.
            self._lines, self._size, self._dropped, self._quoted = [], len(line), False, False
        self._lines.append(line)
        self._size += 1
        self._quoted ^= self._odd
        self._line, self._odd = [], False


def _json_fields(record: str) -> Fields:
    fields = json.loads(record)
    return str(fields["message"]), int(fields["pid"]), str(fields["timestamp"])


def _csv_fields(record: str) -> Fields:
    if not ROW.match(record):
        raise ValueError(record[:80])
    fields = next(csv.reader([record], strict=True))
    return fields[13], int(fields[3]), fields[0]


def _fielded(fields_of: Callable[[str], Fields], bare: bool) -> Parse:
    def parse(records: list[str]) -> Iterator[Duration]:
        for record in records:
            if "duration: " not in record:
                continue
            with suppress(ValueError, TypeError, LookupError, AttributeError, csv.Error, RecursionError):
                message, pid, at = fields_of(record)
                found = _duration(message, pid, _seconds(at), bare)
                if found is not None:
                    yield found

    return parse


def _plain(prefix: str, bare: bool) -> Parse:
    """Lines of a statement after its first begin with a tab: no text can stand for another line."""
    begin = Begin(prefix)

    def parse(records: list[str]) -> Iterator[Duration]:
        for record in records:
            if record.startswith("\t") or f"{SAID}duration: " not in record:
                continue
            found = begin.match(record)
            if found is None:
                continue
            end, told = found
            at_s = float(told.get("epoch") or 0) or _seconds(told.get("at") or "")
            duration = _duration(record[end:], int(told.get("pid") or 0), at_s, bare)
            if duration is not None:
                yield duration

    return parse


class Begin:
    """The part of a line before its message. If it contains a client's names, the line must be clear.

    Such a name may imitate everything that follows it. A line therefore counts only if it contains one severity, and if
    each time and process in it can be read in only one way. Takes a time linear in the line's length.
    """

    def __init__(self, prefix: str) -> None:
        first, *others = _fixed(prefix)
        self._named = bool(others)
        self._first = re.compile(first if others else first + SAID)
        self._last = re.compile(f"(?=({others[-1]}{SAID}))" if others else "")
        self._between = [re.compile(f"(?={o})") for o in others[:-1] if "(?P<" in o]

    def match(self, record: str) -> tuple[int, dict[str, str]] | None:
        """The start of the message, and the known parts of the prefix; None if that is ambiguous."""
        found = self._first.match(record)
        if found is None or not self._named:
            return found and (found.end(), found.groupdict())
        if len(list(islice(SEVERITY.finditer(record, found.end()), 2))) != 1:
            return None
        last = _only(self._last, record, found.end(), len(record))
        if last is None:
            return None
        told = found.groupdict() | last.groupdict()
        for pattern in self._between:
            part = _only(pattern, record, found.end(), last.start())
            if part is None:
                return None
            told |= part.groupdict()
        return last.end(1), told


def _only(pattern: re.Pattern[str], text: str, start: int, end: int) -> re.Match[str] | None:
    matches = list(islice(pattern.finditer(text, start, end), 2))
    return matches[0] if len(matches) == 1 else None


def _fixed(prefix: str) -> list[str]:
    """Patterns of what stands before, between and after the escapes that may hold anything."""
    parts, seen = [""], set()
    for token in re.findall(r"%-?\d*[a-zA-Z%]|[^%]+|%", prefix):
        kind = token[-1] if token.startswith("%") and len(token) > 1 else ""
        known = ESCAPES.get(kind) if kind else re.escape(token)
        if known is None:
            parts.append("")
            continue
        width = _width(token[1:-1]) if kind else 0
        known = re.sub(r"\?P<\w+>", "?:", known) if kind in seen else known
        parts[-1] += " *+" * (width > 0) + known + f" {{0,{-width}}}" * (width < 0)
        seen.add(kind)
    return parts


def _width(text: str) -> int:
    """Of a padding; below 0 for one on the right. A wider one than a record counts as that."""
    width = min(int(text.lstrip("-").lstrip("0")[:DIGITS] or 0), LONGEST_RECORD)
    return -width if text.startswith("-") else width


def _duration(message: str, pid: int, at_s: float, bare: bool = False) -> Duration | None:
    found = MESSAGE.match(message)
    if found is None or (found[2] is None and bare):
        return None
    return Duration(float(found[1]), _part(found[2], found[3] or ""), pid, at_s)


def _part(kind: str | None, text: str) -> Part:
    if kind in ("parse", "bind"):
        return "before"
    return "begin" if BEGINS.match(text) else "end" if ENDS.match(text) else "other"


def _seconds(text: str) -> float:
    try:
        return datetime.fromisoformat(text[:23]).timestamp()
    except ValueError:
        return 0.0
