"""MariaDB does not persist a changed setting by itself: SET GLOBAL, and a line of an option file that it reads at its
start.

    loose_sort_buffer_size = 4194304

`loose_`: a version or a plugin that lacks the variable must not keep the server from starting.
"""

from __future__ import annotations

import re

from lutra_models.catalog.statements.mysql import set_global, variable
from lutra_models.catalog.statements.steps import FileLine, Renderer, Step

FILE = "include_file"
SECTION = "mariadbd"


def fits_a_line(value: str) -> bool:
    """Whether a line of an option file can contain the value."""
    return '"' not in value and value.isprintable()


def line(name: str, value: str | None) -> FileLine:
    """The line that gives a setting a value; for None, a comment that there is no line."""
    return FileLine(name, _text(f"loose_{variable(name)}", value), FILE, SECTION, value)


def change(name: str, text: str, restart: bool) -> tuple[Step, ...]:
    kept = line(name, text)
    return (kept,) if restart else (set_global(name, text), kept)


def undo(name: str, text: str | None, active: str, restart: bool) -> tuple[Step, ...]:
    kept = line(name, text)
    return (kept,) if restart else (set_global(name, active), kept)


def _text(option: str, value: str | None) -> str:
    if value is None:
        return f"# delete the line {option}"
    if not fits_a_line(value):
        return f"# {option}: no line holds {value!r}"
    quoted = f'"{value}"' if re.search(r"[\s#\"';,]", value) else value
    return f"{option} = {quoted}"


MARIADB = Renderer("mariadb", change, undo)
