"""MySQL 8.0 and later: SET PERSIST keeps a value over a restart. Its words for values are the same as MariaDB's."""

from __future__ import annotations

import re

from lutra_models.catalog.statements.steps import Renderer, Statement, Step

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_SUFFIXED = re.compile(r"(\d+)([kmgtpe])b?", re.ASCII | re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*", re.ASCII)
_SUFFIXES = "kmgtpe"
_WORDS = {"on": "1", "true": "1", "yes": "1", "off": "0", "false": "0", "no": "0"}


def literal(text: str) -> str:
    """The value as a literal: numbers bare, all others quoted, because the server refuses '128' for a number."""
    if _NUMBER.fullmatch(text):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def variable(name: str) -> str:
    """The name itself. Raises ValueError if it is not a variable name."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a variable name")
    return name


def same(one: str, other: str) -> bool:
    """Whether two texts mean the same value: 1G and 1073741824, ON and 1, 75 and 75.000000."""
    return _plain(one) == _plain(other)


def set_global(name: str, text: str) -> Statement:
    """The statement that makes a value active without persisting it."""
    return Statement(name, f"SET GLOBAL {variable(name)} = {literal(text)}", wanted=text)


def change(name: str, text: str, restart: bool) -> tuple[Step, ...]:
    kept = f"{variable(name)} = {literal(text)}"
    if restart:
        return (Statement(name, f"SET PERSIST_ONLY {kept}"),)
    return (Statement(name, f"SET PERSIST {kept}", wanted=text),)


def undo(name: str, text: str | None, active: str, restart: bool) -> tuple[Step, ...]:
    if text is not None and (restart or same(text, active)):
        return change(name, text, restart)
    if text is None:
        kept = Statement(name, f"RESET PERSIST IF EXISTS {variable(name)}")
    else:  # PERSIST_ONLY would ask for one more privilege
        kept = Statement(name, f"SET PERSIST {variable(name)} = {literal(text)}")
    return (kept,) if restart else (kept, set_global(name, active))


def _plain(text: str) -> str | float:
    text = text.strip().lower()
    if suffixed := _SUFFIXED.fullmatch(text):
        return float(int(suffixed[1]) * 1024 ** (_SUFFIXES.index(suffixed[2]) + 1))
    text = _WORDS.get(text, text)
    return float(text) if _NUMBER.fullmatch(text) else text


MYSQL = Renderer("mysql", change, undo)
