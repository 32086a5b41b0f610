"""The differences from a live server, in the order of the change, and the steps that make and undo it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lutra_models.catalog.reported import ReportedSettings
from lutra_models.catalog.statements import Statement, Step, renderer
from lutra_models.catalog.sums import coupling_rule
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Applies, Value


@dataclass(frozen=True)
class Change:
    """The change of one setting from `before` to `after` (server's unit, and as people read them).

    `value_text` is the new value in the form that the steps of the change use.
    """

    name: str
    before: Value
    after: Value
    before_text: str
    after_text: str
    applies: Applies
    value_text: str


@dataclass(frozen=True)
class ChangeSteps:
    """A change with the steps that make it, and those that undo it afterwards.

    `reload` follows if the steps only change a file: the agent reloads by itself, a person has to.
    """

    change: Change
    do: tuple[Step, ...]
    undo: tuple[Step, ...]
    reload: tuple[Step, ...] = ()

    @property
    def do_by_hand(self) -> tuple[Step, ...]:
        return (*self.do, *self.reload)

    @property
    def undo_by_hand(self) -> tuple[Step, ...]:
        return (*self.undo, *self.reload)


def changes(reported: ReportedSettings, target: Mapping[str, Value]) -> tuple[Change, ...]:
    """The settings that differ from the live server, and those that wait for a restart there. Raises
    InvalidConfiguration.

    The changes in an order that keeps the couplings at every step, forwards and backwards: a server may clamp a setting
    to another. The server's own settings come first, then those of each further source.
    """
    found = []
    for name, value in target.items():
        after = reported.parse(name, value)
        before = reported.values[name]
        if before != after or reported.server.settings[name].pending_restart:
            found.append(_change(reported, name, before, after))
    sources = [c.source for c in reported.catalogs]
    return tuple(sorted(_ordered(reported, found), key=lambda c: sources.index(reported.row(c.name).source)))


def steps(reported: ReportedSettings, made: Sequence[Change]) -> tuple[ChangeSteps, ...]:
    """The steps of changes that are made together; they are undone in the reverse order of the changes.

    If one of them needs a restart, all wait for it.
    """
    restart = any(c.applies == "restart" for c in made)
    found = []
    for change in made:
        setting, render = reported.server.settings[change.name], renderer(reported.catalog_of(change.name).name)
        undo = render.undo(change.name, setting.persisted, setting.value, restart)
        do = render.change(change.name, change.value_text, restart)
        reload = (Statement(change.name, render.reload),) if render.reload and not restart else ()
        found.append(ChangeSteps(change, do, undo, reload))
    return tuple(found)


def not_active(reported: ReportedSettings, name: str) -> str | None:
    """The values that the settings file has and the running server has not, in words with the remedy; None if both
    agree, or if that is unknown.
    """
    setting, wanted = reported.server.settings[name], _in_file(reported, name)
    reload = renderer(reported.catalog_of(name).name).reload
    apart = wanted is not None and _apart(reported.values[name], wanted, exactly=bool(reload))
    restarts = setting.applies in ("restart", "reboot")
    if setting.shadowed or not (setting.pending_restart or (apart and (reload or not restarts))):
        return None
    way = f"a reload ({reload}) activates it" if reload else "setting it, or a restart, activates it"
    if restarts or setting.pending_restart:
        way = f"a {'reboot of the host' if setting.applies == 'reboot' else 'restart'} activates it"
    text = "a different value" if wanted is None else reported.text(name, wanted)
    return f"{text} is in the file but not active: {way}"


ROUNDED = 2.0
"""A server may round a number of its file when a statement makes it active, but not by such a factor."""


def _in_file(reported: ReportedSettings, name: str) -> Value | None:
    """None also for a text that asks the server for a value of its own choice (-1, or 0)."""
    text = reported.server.settings[name].persisted
    try:
        value = None if text is None else reported.parse(name, text)
    except InvalidConfiguration:
        return None
    return None if isinstance(value, int | float) and value <= 0 else value


def _apart(now: Value, wanted: Value, exactly: bool) -> bool:
    if exactly or isinstance(wanted, str) or isinstance(now, str) or now <= 0:
        return wanted != now
    return max(wanted / now, now / wanted) >= ROUNDED


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
    setting = reported.server.settings[name]
    if setting.applies == "fixed":
        raise InvalidConfiguration(f"{name}: it cannot be changed on this server")
    texts = reported.text(name, before), reported.text(name, after)
    value_text = str(after) if reported.catalog_of(name).plain else texts[1]
    return Change(name, before, after, *texts, setting.applies, value_text)
