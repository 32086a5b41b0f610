"""The lines of a server's log about a failure."""

from __future__ import annotations

from pathlib import Path

LAST_LINES = 15


def last_lines(log: Path, start: int) -> str:
    """The end of the text after byte `start`."""
    return "\n".join(log.read_bytes()[start:].decode(errors="replace").splitlines()[-LAST_LINES:])
