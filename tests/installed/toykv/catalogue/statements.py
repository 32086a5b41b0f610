"""How the settings are changed: by a command, and on the host by a line of its file."""

from __future__ import annotations

from lutra_models.catalog.statements import FileLine, Renderer, Statement, Step


def change(name: str, text: str, _restart: bool) -> tuple[Step, ...]:
    return (Statement(name, f"SET {name} {text}"),)


def undo(name: str, text: str | None, _active: str, _restart: bool) -> tuple[Step, ...]:
    # The server's own files decide what is active: it knows no value that is in neither.
    return (Statement(name, f"UNSET {name}" if text is None else f"SET {name} {text}"),)


def change_host(name: str, text: str, _restart: bool) -> tuple[Step, ...]:
    return (_line(name, text),)


def undo_host(name: str, text: str | None, _active: str, _restart: bool) -> tuple[Step, ...]:
    return (_line(name, text),)


def _line(name: str, value: str | None) -> FileLine:
    text = f"# without {name}" if value is None else f"{name} = {value}"
    return FileLine(name, text, file="host_file", value=value)


RENDERER = Renderer("toykv", change, undo)
HOST = Renderer("toykv_host", change_host, undo_host)
