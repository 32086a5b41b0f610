"""The exact statements that make a configuration active, and the exact ones that take it back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lutra_models.catalog.reported import ReportedSettings
from lutra_models.catalog.sums import coupling_rule
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


def changes(reported: ReportedSettings, target: Mapping[str, Value]) -> tuple[Change, ...]:
    """What differs from the live server, and what waits there for a restart. Raises InvalidConfiguration.

    In an order that keeps the couplings at every step, forwards and backwards: a server may clamp a setting to another.
    """
    found = []
    for name, value in target.items():
        after = reported.parse(name, value)
        before = reported.values[name]
        if before != after or reported.server.settings[name].pending_restart:
            found.append(_change(reported, name, before, after))
    return tuple(_ordered(reported, found))


def _ordered(reported: ReportedSettings, found: list[Change]) -> list[Change]:
    """Those that take part in a coupling come first, each as soon as the couplings that hold now let it."""
    rule = coupling_rule(reported, frozenset(c.name for c in found))
    bound = {n for c in rule.couplings for n in c.holds.names}
    waiting, free = [c for c in found if c.name in bound], [c for c in found if c.name not in bound]
    done: dict[str, Value] = {}
    ordered = []
    while waiting:
        fits = (c for c in waiting if rule.broken({**done, c.name: c.after}) is None)
        following = next(fits, waiting[0])
        waiting.remove(following)
        done[following.name] = following.after
        ordered.append(following)
    return ordered + free


def _change(reported: ReportedSettings, name: str, before: Value, after: Value) -> Change:
    setting, catalog = reported.server.settings[name], reported.catalog
    if setting.applies == "fixed":
        raise InvalidConfiguration(f"{name}: it cannot be changed on this server")
    texts = reported.text(name, before), reported.text(name, after)
    literals = tuple(_literal(str(v) if catalog.plain else t) for v, t in zip((before, after), texts, strict=True))
    restart, kept = setting.applies == "restart", setting.persisted
    setters = catalog.templates.set_restart if restart else catalog.templates.set
    resetters = catalog.templates.reset_restart if restart else catalog.templates.reset
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
