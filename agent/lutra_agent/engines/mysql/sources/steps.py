"""The steps of a change: statements for the server, and lines for the file that it reads at its start."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from lutra_agent.engines.common.source import Step

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_SUFFIXED = re.compile(r"(\d+)([kmgtpe])b?", re.ASCII | re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*", re.ASCII)
_SUFFIXES = "kmgtpe"
_WORDS = {"on": "1", "true": "1", "yes": "1", "off": "0", "false": "0", "no": "0"}


@dataclass(frozen=True)
class Sql(Step):
    """A statement. `wanted` is the active value that it asks for, None where it only concerns a file."""

    wanted: str | None = None


@dataclass(frozen=True)
class Line(Step):
    """A line of the agent's own include `file`; `value` None takes it out."""

    value: str | None = None
    file: Path | None = None


def literal(text: str) -> str:
    """A number bare, anything else quoted: the server refuses '128' where it wants 128."""
    if _NUMBER.fullmatch(text):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def checked(name: str) -> str:
    """Raises ValueError for what is no name of a variable."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a variable")
    return name


def same(one: str, other: str) -> bool:
    """Whether two texts mean one value: 1G and 1073741824, ON and 1, 75 and 75.000000."""
    return _plain(one) == _plain(other)


def _plain(text: str) -> str | float:
    text = text.strip().lower()
    if suffixed := _SUFFIXED.fullmatch(text):
        return float(int(suffixed[1]) * 1024 ** (_SUFFIXES.index(suffixed[2]) + 1))
    text = _WORDS.get(text, text)
    return float(text) if _NUMBER.fullmatch(text) else text
