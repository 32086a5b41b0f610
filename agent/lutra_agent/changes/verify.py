"""The test whether the server runs as a change, or a restore, intended: by its reports, not by the values that it was
given.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lutra_models.catalog import LiveSettings, meet
from lutra_models.errors import ApplyCode, InvalidConfiguration, LutraError
from lutra_models.server import SERVER, Host, Server

from lutra_agent.admission.preconditions import Plan
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.source import SettingSource
from lutra_agent.errors import ApplyRefused, CollectionFailed
from lutra_agent.state.snapshot import Snapshot, Snapshots, active_in, texts_in

ANY_HOST = Host(memory_bytes=1, cores=1)
"""A server's report of its settings does not depend on its host."""

log = logging.getLogger(__name__)


def settle_s(sources: Iterable[SettingSource]) -> float:
    """The seconds until it is certain whether the values given to these sources are active."""
    return max((s.activation.settle_s for s in sources), default=0.0)


def require_settled(control: ServerControl, sources: Sequence[SettingSource]) -> None:
    """Wait until values no longer change by themselves. Raises ApplyRefused for the sources with values that still may.

    Raises DatabaseUnavailable and CollectionFailed.
    """
    if left := control.poll_until_empty(lambda: _unsettled(sources), settle_s(sources)):
        message = f"still in progress after {settle_s(sources):g} s: {', '.join(left)}"
        raise ApplyRefused(ApplyCode.NOT_ACTIVE_AFTER_APPLY, message)


def _unsettled(sources: Iterable[SettingSource]) -> list[str]:
    return [s.name for s in sources if not s.activation.settled()]


def differences_from_target(plan: Plan, server: Server) -> tuple[list[str], list[str]]:
    """The settings that are not active as requested, and those that a source has rounded, in words.

    A value of 0 or below may let the server choose.
    """
    active = meet(server).values
    rounding = {name for part in plan.parts if part.source.activation.rounds for name in part.names}
    unmet, rounded = [], []
    for name in plan.names:
        setting, wanted = server.settings.get(name), plan.target[name]
        if setting is None:
            unmet.append(f"{name} is no longer reported")
            continue
        own_choice = isinstance(wanted, int | float) and wanted <= 0 and setting.persisted is not None
        difference = f"{name} is {active[name]}, not {wanted}"
        if setting.pending_restart:
            unmet.append(f"{name} waits for a restart")
        elif setting.shadowed:
            unmet.append(f"{name} is overridden by {setting.shadowed}")
        elif active[name] == wanted or own_choice:
            continue
        elif name in rounding and not isinstance(wanted, str):
            rounded.append(difference)
        else:
            unmet.append(difference)
    return unmet, rounded


def verify_restored(
    engine: Engine, control: ServerControl, before: Snapshots, names: list[str], restart: bool, just_read: bool
) -> None:
    """Raises ApplyRefused, which names the part of `names` that differs from the snapshots; otherwise the restore has
    ended.

    `restart`: settings that change only with a restart have to be active as well. `just_read`: the server has just been
    given its texts, or has read them at its start, so a number that it rounded counts as restored.
    """
    unreadable = ""

    def left() -> list[str]:
        nonlocal unreadable
        try:
            live, unreadable = meet(engine.server(ANY_HOST)), ""
        except CollectionFailed as error:
            unreadable = str(error)
            return names
        found = _Restored(live, before, restart, control.progress.restarted, just_read)
        return [
            n
            for source, snapshot in _kept(engine, before)
            for n in names
            if n in snapshot.texts and n in live.server.settings and not found.holds(source, n)
        ]

    concerned = [s for s, snapshot in _kept(engine, before) if not snapshot.texts.keys().isdisjoint(names)]
    found = control.poll_until_empty(left, settle_s(concerned))
    if unreadable:  # there is nothing more that the agent could do
        log.error("the settings cannot be read after the restore: %s", unreadable)
    elif found:
        raise ApplyRefused(ApplyCode.NOT_ACTIVE_AFTER_APPLY, f"not restored yet: {', '.join(found)}")
    control.progress.end()


def is_restored(engine: Engine, before: Snapshots, names: list[str]) -> bool:
    """Whether text and value of each are the snapshot's, so that a restart would change nothing."""
    try:
        settings = engine.server(ANY_HOST).settings
    except CollectionFailed:
        return False
    texts, active = texts_in(before), active_in(before)
    now = {n: (s.persisted, s.value) for n, s in settings.items()}
    return all(now.get(n) == (texts[n], active[n]) for n in names)


def was_restarted(engine: Engine, before: Snapshots, names: Sequence[str]) -> bool:
    """Whether one of `names` that changes with a restart alone has another value than in the snapshots."""
    try:
        settings = engine.server(ANY_HOST).settings
    except LutraError:  # what cannot be read now is told by the restore itself
        return False
    active = active_in(before)
    found = [n for n in names if n in settings and settings[n].applies == "restart"]
    return any(settings[n].value != active.get(n, settings[n].value) for n in found)


def _kept(engine: Engine, before: Snapshots) -> list[tuple[SettingSource, Snapshot]]:
    return [(s, before[s.name]) for s in engine.sources if s.name in before]


@dataclass(frozen=True)
class _Restored:
    """What a restore asks of a server as it was read. `restarted`: it came up from its restored file."""

    live: LiveSettings
    before: Snapshots
    restart: bool
    restarted: bool
    just_read: bool

    def holds(self, source: SettingSource, name: str) -> bool:
        setting, text = self.live.server.settings[name], self.before[source.name].texts[name]
        own = source.name == SERVER
        rounds = source.activation.rounds and (self.just_read or not own)
        answered = rounds and setting.kind in ("integer", "real") and not setting.pending_restart
        if setting.persisted != text and not (answered and None not in (setting.persisted, text)):
            return False
        waits = setting.applies == "reboot" or (setting.applies == "restart" and not self.restart)
        if setting.shadowed or waits:
            return True
        started_so = (own or setting.applies == "restart") and self.restarted and not setting.pending_restart
        if answered or started_so or setting.value == self.before[source.name].active[name]:
            return True
        return self._active_as_in_file(name, text)

    def _active_as_in_file(self, name: str, text: str | None) -> bool:
        """Whether the active value is what the file says, which it was not when the snapshot was taken."""
        try:
            return text is not None and self.live.parse(name, text) == self.live.values[name]
        except InvalidConfiguration:
            return False
