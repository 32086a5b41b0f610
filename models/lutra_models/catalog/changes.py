"""The exact statements that make a configuration active, and the exact ones that take it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lutra_models.catalog.facts import Server, ServerSetting
from lutra_models.catalog.rows import CatalogFile
from lutra_models.catalog.units import show
from lutra_models.catalog.values import from_text, parse
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Applies, Value


@dataclass(frozen=True)
class Change:
    """One setting's way from `before` to `after` (server's unit, and as text), with its statement and its undo."""

    name: str
    before: Value
    after: Value
    before_text: str
    after_text: str
    applies: Applies
    do: str
    undo: str


def changes(file: CatalogFile, server: Server, target: Mapping[str, Value]) -> tuple[Change, ...]:
    """What differs from the live server, and what waits there for a restart. Raises InvalidConfiguration."""
    found = []
    for name, value in target.items():
        after = parse(file, server, name, value)
        setting = server.settings[name]
        before = from_text(name, setting.value, setting)
        if before != after or setting.pending_restart:
            found.append(_change(file, name, setting, before, after))
    return tuple(found)


def _change(file: CatalogFile, name: str, setting: ServerSetting, before: Value, after: Value) -> Change:
    if setting.applies == "fixed":
        raise InvalidConfiguration(f"{name}: it cannot be changed on this server")
    texts = show(before, setting.unit), show(after, setting.unit)
    undo = _set(file, name, setting.persisted) if setting.persisted is not None else _reset(file, name)
    return Change(name, before, after, *texts, setting.applies, _set(file, name, texts[1]), undo)


def _set(file: CatalogFile, name: str, text: str) -> str:
    return file.set_template.format(name=name, text=text.replace("'", "''"))


def _reset(file: CatalogFile, name: str) -> str:
    return file.reset_template.format(name=name)
