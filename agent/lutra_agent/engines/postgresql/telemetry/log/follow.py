"""The text appended to a log since it was read last, across rotations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lutra_agent.files.atomic import opened_regular, real

MOST_BYTES = 1 << 23
"""The limit of one reading of a file; of more, the latest part is read."""


@dataclass
class Place:
    """The position at which reading continues: the file and the number of bytes."""

    file: Path
    offset: int


class Follower:
    """Begins at the end of the first file. A file that was replaced or truncated is read from its start."""

    def __init__(self) -> None:
        self._place: Place | None = None
        self._identity: tuple[int, int] | None = None

    def appended(self, file: Path) -> bytes:
        """Raises OSError if the file cannot be read."""
        place = self._place
        if place is None:
            self._place, self._identity = Place(file, file.stat().st_size), _identity(file)
            with opened_regular(real(file)):
                return b""
        found = b""
        if place.file != file:
            found = self._tail(place, missing_ok=True)
        elif _identity(file) != self._identity or file.stat().st_size < place.offset:
            place = None
        if place is None or place.file != file:
            self._place, self._identity = Place(file, 0), _identity(file)
            found += b"\n" if found and not found.endswith(b"\n") else b""
        return found + self._tail(self._place or Place(file, 0))

    def _tail(self, place: Place, missing_ok: bool = False) -> bytes:
        try:
            with opened_regular(real(place.file)) as opened:
                size = opened.seek(0, 2)
                start = max(place.offset, size - MOST_BYTES)
                opened.seek(start)
                content = opened.read(size - start) or b""
        except FileNotFoundError:
            if missing_ok:
                return b""
            raise
        skipped, place.offset = start > place.offset, start + len(content)
        return content.partition(b"\n")[2] if skipped else content


def _identity(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_dev, found.st_ino
