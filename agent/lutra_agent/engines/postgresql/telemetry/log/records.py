"""Lines of a log become durations. Anybody who may run statements writes into it: its texts are only compared."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Part = Literal["begin", "end", "other", "before"]
"""What a statement is to its transaction; `before` is a step of the protocol ahead of an execution."""

Fields = tuple[str, int, str]
"""Message, process, time."""

Parse = Callable[[list[str]], Iterator["Duration"]]

MESSAGE = re.compile(r"duration: (\d{1,12}\.\d{3}) ms(?:  (statement|parse|bind|execute|fastpath)[^:]*: ?(.*))?")
BEGINS = re.compile(r"\s*(begin|start\s+transaction)\b", re.IGNORECASE)
ENDS = re.compile(r"\s*(commit|end|rollback(?!\s+to)|abort)\b", re.IGNORECASE)
LONGEST_RECORD = 1 << 20
LONGEST_BEGIN = 1000

ESCAPES = {
    "m": r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \S+",
    "n": r"(?P<epoch>\d+\.\d{3})",
    "p": r"(?P<pid>\d+)",
    "%": "%",
    "q": "",
}
"""What a session's line begins with, by `log_line_prefix`."""


@dataclass(frozen=True)
class Duration:
    """One duration: of the backend `pid`, which said it at `at_s`. Both are 0 where the log does not tell them."""

    ms: float
    part: Part = "other"
    pid: int = 0
    at_s: float = 0.0


def parser(form: str, prefix: str, bare: bool) -> Parse:
    """For lines of a format. With `bare` a duration without its statement is nobody's: log_duration wrote it."""
    fields_of = {"jsonlog": _json_fields, "csvlog": _csv_fields}.get(form)
    return _plain(prefix, bare) if fields_of is None else _fielded(fields_of, bare)


def complete(form: str, text: str) -> tuple[list[str], str]:
    """The records of a text, and what is left of the last one, which is still being written."""
    *lines, rest = text.split("\n")
    if form != "csvlog":
        return lines, rest
    records: list[str] = []
    begun = ""
    for line in lines:
        begun += line if not begun else "\n" + line
        if begun.count('"') % 2 == 0 or len(begun) > LONGEST_RECORD:
            records.append(begun)
            begun = ""
    return records, f"{begun}\n{rest}" if begun else rest


def _json_fields(record: str) -> Fields:
    fields = json.loads(record)
    return str(fields["message"]), int(fields["pid"]), str(fields["timestamp"])


def _csv_fields(record: str) -> Fields:
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
    begin = re.compile(_pattern(prefix) + "LOG:  ")

    def parse(records: list[str]) -> Iterator[Duration]:
        for record in records:
            found = None if record.startswith("\t") else begin.match(record, 0, LONGEST_BEGIN)
            if found is None:
                continue
            told = found.groupdict()
            at_s = float(told.get("epoch") or 0) or _seconds(told.get("at") or "")
            duration = _duration(record[found.end() :], int(told.get("pid") or 0), at_s, bare)
            if duration is not None:
                yield duration

    return parse


def _pattern(prefix: str) -> str:
    parts, seen = [], set()
    for token in re.findall(r"%-?\d*[a-zA-Z%]|[^%]+|%", prefix):
        kind = token[-1] if token.startswith("%") and len(token) > 1 else ""
        pad = " *" if len(token) > 2 else ""
        known = ESCAPES.get(kind) if kind not in seen else None
        parts.append(re.escape(token) if not kind else ".*?" if known is None else f"{pad}{known}{pad}")
        seen.add(kind)
    return "".join(parts)


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
