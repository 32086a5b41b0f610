"""The exact statements that make a configuration active, and the exact ones that take it back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lutra_models.catalog.facts import Server, ServerSetting
from lutra_models.catalog.rows import CatalogFile
from lutra_models.catalog.units import show
from lutra_models.catalog.values import from_text, parse
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Applies, Value

_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Change:
    """One setting's way from `before` to `after` (server's unit, and as text), with its statements and their undo.

    `literal` is the value as the server's own file or grammar takes it; more than one statement is joined by "; ".
    """

    name: str
    before: Value
    after: Value
    before_text: str
    after_text: str
    applies: Applies
    do: str
    undo: str
    literal: str = ""


def changes(file: CatalogFile, server: Server, target: Mapping[str, Value]) -> tuple[Change, ...]:
    """What differs from the live server, and what waits there for a restart. Raises InvalidConfiguration.

    In the catalogue's order: a server may move one setting along with another that passes it.
    """
    found = []
    places = {row.name: place for place, row in enumerate(file.rows)}
    for name, value in sorted(target.items(), key=lambda item: places.get(item[0], 0)):
        after = parse(file, server, name, value)
        setting = server.settings[name]
        before = from_text(file, name, setting.value, setting)
        if before != after or setting.pending_restart:
            found.append(_change(file, name, setting, before, after))
    return tuple(found)


def _change(file: CatalogFile, name: str, setting: ServerSetting, before: Value, after: Value) -> Change:
    if setting.applies == "fixed":
        raise InvalidConfiguration(f"{name}: it cannot be changed on this server")
    texts = show(before, setting.unit), show(after, setting.unit)
    literals = tuple(_literal(str(v) if file.plain else t) for v, t in zip((before, after), texts, strict=True))
    restart, kept = setting.applies == "restart", setting.persisted
    setters = file.templates.set_restart if restart else file.templates.set
    resetters = file.templates.reset_restart if restart else file.templates.reset
    do = _filled(setters, name, texts[1], literals[1], literals[0])
    back = (resetters, texts[0], literals[0]) if kept is None else (setters, kept, _literal(kept))
    undo = _filled(back[0], name, back[1], back[2], literals[0])
    return Change(name, before, after, *texts, setting.applies, do, undo, literals[1])


def _filled(templates: tuple[str, ...], name: str, text: str, literal: str, before: str) -> str:
    quoted = text.replace("'", "''")
    return "; ".join(t.format(name=name, text=quoted, literal=literal, before=before) for t in templates)


def _literal(text: str) -> str:
    """A number bare, anything else quoted: servers that tell the two apart refuse '128' where they want 128."""
    if _NUMBER.fullmatch(text):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
