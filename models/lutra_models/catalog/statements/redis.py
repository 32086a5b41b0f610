"""Redis, Valkey and pika: CONFIG SET makes a value active, and a line of the server's own file persists it.

    maxmemory-samples 10

CONFIG REWRITE is not used as a step: it writes lines of unchanged settings, and drops others.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lutra_models.catalog.statements.steps import FileLine, Renderer, Statement, Step

FILE = "config_file"
PAIRS = frozenset({"save"})
"""Settings whose value is any number of pairs: a line for each, as every version reads it."""
KEEP_DATA = frozenset({"appendonly", "save"})
"""Settings that are set while the server runs, even before a restart: a server that finds them only in its file starts
without its data.
"""
IN_FILE = {"max-write-buffer-number": "max-write-buffer-num"}
"""pika 3.3 uses different names in its file and in its answers; it ignores the name of its answers in the file."""

_NAME = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z0-9_.,:=+/-]+", re.ASCII)


def word(text: str) -> str:
    """A value as one word of a command or a line, quoted if necessary."""
    if _PLAIN.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def lines(name: str, value: str) -> list[str]:
    """The lines of a Redis file that give a setting a value."""
    words = value.split()
    if name in PAIRS and words:
        return [" ".join((name, *words[i : i + 2])) for i in range(0, len(words), 2)]
    return [f"{name} {word(value)}"]


def pika_line(name: str, value: str) -> str:
    """The line of a pika file, in which nothing is quoted."""
    return f"{IN_FILE.get(name, name)} : {value}"


def in_redis_file(name: str, value: str | None) -> FileLine:
    shown = f"# delete the line {name}" if value is None else "\n".join(lines(_setting(name), value))
    return FileLine(name, shown, FILE, value=value)


def in_pika_file(name: str, value: str | None) -> FileLine:
    shown = f"# delete the line {IN_FILE.get(name, name)}" if value is None else pika_line(_setting(name), value)
    return FileLine(name, shown, FILE, value=value)


def config_set(name: str, text: str, wanted: str | None = None) -> Statement:
    return Statement(name, f"CONFIG SET {_setting(name)} {word(text)}", wanted=wanted)


def _renderer(catalogue: str, line: Callable[[str, str | None], FileLine]) -> Renderer:
    def change(name: str, text: str, restart: bool) -> tuple[Step, ...]:
        at_start = restart and name not in KEEP_DATA
        return (line(name, text),) if at_start else (config_set(name, text, text), line(name, text))

    def undo(name: str, text: str | None, active: str, restart: bool) -> tuple[Step, ...]:
        at_start = restart and name not in KEEP_DATA
        return (line(name, text),) if at_start else (config_set(name, active), line(name, text))

    return Renderer(catalogue, change, undo)


def _setting(name: str) -> str:
    """The name itself. Raises ValueError for what is not a setting name."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a setting name")
    return name


REDIS = _renderer("redis", in_redis_file)
VALKEY = _renderer("valkey", in_redis_file)
PIKA = _renderer("pika", in_pika_file)
