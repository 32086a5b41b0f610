"""The content of a file of measurements before its meaning is known: rows of named cells, each with its place."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from lutra_models.errors import LutraError

MOST_TOLD = 10
"""The maximum number of faults of one file that are reported individually."""


class Broken(LutraError):
    """A faulty file; each fault is a line that begins with the file, the line and the column."""

    code = "invalid_request"


class Faults:
    """All faults of a file, so that a person sees them at once."""

    def __init__(self) -> None:
        self._told: list[str] = []
        self.count = 0

    @contextmanager
    def kept(self) -> Iterator[None]:
        """A refusal inside is added to them."""
        try:
            yield
        except Broken as fault:
            self.count += 1
            if len(self._told) < MOST_TOLD:
                self._told.append(str(fault))

    def settle(self, way_out: str = "") -> None:
        """Raises Broken if there are any: the first ten, and the number of further ones."""
        if not self.count:
            return
        more = self.count - len(self._told)
        told = [*self._told, *([f"and {more:,} more of this kind"] if more else []), *([way_out] if way_out else [])]
        raise Broken("\n".join(told))


@dataclass(frozen=True)
class Place:
    """`line` and `column` count from 1. In a table of cells the column is the cell's number, otherwise the
    character's.
    """

    file: str
    line: int
    column: int

    def refuse(self, why: str) -> NoReturn:
        raise Broken(f"{self.file}:{self.line}:{self.column}: {why}")


@dataclass(frozen=True)
class Within:
    """The place of `offset` in a text, or of the JSON key `name` after it. It is computed only for a fault: a file has
    a million of them.
    """

    file: Path
    text: str
    offset: int
    name: str | None = None

    def refuse(self, why: str) -> NoReturn:
        at = -1 if self.name is None else self.text.find(json.dumps(self.name), self.offset)
        place_at(self.file, self.text, self.offset if at < 0 else at).refuse(why)


@dataclass(frozen=True)
class Cell:
    text: str
    place: Place | Within


@dataclass(frozen=True)
class RawRow:
    """One measured configuration; `failed` is the reason for a missing reading, if the file has one.

    `titles` is the place of each cell's name, if that is not next to it.
    """

    cells: Mapping[str, Cell]
    place: Place | Within
    failed: str | None = None
    titles: Mapping[str, Place] = field(default_factory=dict)

    def named(self, title: str) -> Place | Within:
        return self.titles.get(title, self.cells[title].place)


MOST_BYTES = 64 << 20
"""The size limit of an unpacked file: two thousand rows take a tenth of it."""


def text_of(file: Path) -> str:
    """The file's text, unpacked if its name ends in .gz. Raises Broken."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise Broken(f"{file}: more than {MOST_BYTES >> 20} MiB of text; take fewer rows, or fewer columns")
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        Place(str(file), line, column).refuse("this is not UTF-8")
    except (OSError, EOFError, zlib.error) as error:
        raise Broken(f"{file}: {error}") from error
    if "\x00" in text:
        place_at(file, text, text.index("\x00")).refuse("a text file must not contain NUL")
    return text


def place_at(file: Path, text: str, offset: int) -> Place:
    return Place(str(file), text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1)


def as_text(value: object) -> str:
    """A value of a document as the text of a cell."""
    return "on" if value is True else "off" if value is False else str(value)
