"""PostgreSQL: ALTER SYSTEM writes postgresql.auto.conf; a reload or a restart activates its content."""

from __future__ import annotations

import re

from lutra_models.catalog.statements.steps import Renderer, Statement, Step

_BARE = re.compile(r"[a-z_][a-z0-9_.]*")


def literal(text: str) -> str:
    """The value, always quoted: ALTER SYSTEM accepts numbers as text."""
    return "'" + text.replace("'", "''") + "'"


def change(name: str, text: str, _restart: bool) -> tuple[Step, ...]:
    return (Statement(name, f"ALTER SYSTEM SET {_identifier(name)} = {literal(text)}"),)


def undo(name: str, text: str | None, _active: str, _restart: bool) -> tuple[Step, ...]:
    if text is None:
        return (Statement(name, f"ALTER SYSTEM RESET {_identifier(name)}"),)
    return change(name, text, _restart)


def _identifier(name: str) -> str:
    return name if _BARE.fullmatch(name) else '"' + name.replace('"', '""') + '"'


POSTGRESQL = Renderer("postgresql", change, undo, reload="SELECT pg_reload_conf()")
