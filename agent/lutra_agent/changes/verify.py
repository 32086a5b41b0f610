"""Whether the server runs as a change, or a restore, wanted it: by what it reports, not by what it was given."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from lutra_models.catalog import LiveSettings, meet
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Value
from lutra_models.server import Host, Server

from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.errors import ApplyRefused, CollectionFailed
from lutra_agent.state.snapshot import Snapshot

ANY_HOST = Host(memory_bytes=1, cores=1)
"""What a server reports of its settings does not depend on where it runs."""

log = logging.getLogger(__name__)


def differences_from_target(
    target: Mapping[str, Value], names: Iterable[str], server: Server, rounds: bool
) -> tuple[list[str], list[str]]:
    """What is not active as asked, and what the server has rounded, in words.

    A value of 0 or below may ask the server for one of its own choice.
    """
    active = meet(server).values
    unmet, rounded = [], []
    for name in names:
        setting, wanted = server.settings[name], target[name]
        own_choice = isinstance(wanted, int | float) and wanted <= 0 and setting.persisted is not None
        difference = f"{name} is {active[name]}, not {wanted}"
        if setting.pending_restart:
            unmet.append(f"{name} waits for a restart")
        elif setting.shadowed:
            unmet.append(f"{name} is outranked by {setting.shadowed}")
        elif active[name] == wanted or own_choice:
            continue
        elif rounds and not isinstance(wanted, str):
            rounded.append(difference)
        else:
            unmet.append(difference)
    return unmet, rounded


def verify_restored(
    engine: Engine, control: ServerControl, snapshot: Snapshot, names: list[str], restart: bool, rounds: bool
) -> None:
    """Raises ApplyRefused, naming what of `names` is not as in the snapshot; else the restore has ended.

    `restart`: settings that change with a restart alone have to be active too. `rounds`: the server has just been given
    the texts, or has read them at its start, so a number that it rounded counts as restored.
    """

    unreadable = ""

    def left() -> list[str]:
        nonlocal unreadable
        try:
            live, unreadable = meet(engine.server(ANY_HOST)), ""
        except CollectionFailed as error:
            unreadable = str(error)
            return names
        restarted = control.progress.restarted
        known = (n for n in names if n in live.server.settings)
        return [n for n in known if not _setting_is_restored(live, snapshot, n, restart, restarted, rounds)]

    found = control.poll_until_empty(left)
    if unreadable:  # there is nothing more that the agent could do
        log.error("the settings cannot be read after the restore: %s", unreadable)
    elif found:
        raise ApplyRefused("not_active_after_apply", f"still not as before: {', '.join(found)}")
    control.progress.end()


def is_restored(engine: Engine, snapshot: Snapshot, names: list[str]) -> bool:
    """Whether text and value of each are the snapshot's, so that a restart would change nothing."""
    try:
        settings = engine.server(ANY_HOST).settings
    except CollectionFailed:
        return False
    now = {n: (s.persisted, s.value) for n, s in settings.items()}
    return all(now.get(n) == (snapshot.texts[n], snapshot.active[n]) for n in names)


def _setting_is_restored(
    live: LiveSettings, snapshot: Snapshot, name: str, restart: bool, restarted: bool, rounds: bool
) -> bool:
    setting, text = live.server.settings[name], snapshot.texts[name]
    answered = rounds and setting.kind in ("integer", "real") and not setting.pending_restart
    if setting.persisted != text and not (answered and None not in (setting.persisted, text)):
        return False
    if setting.shadowed or (setting.applies == "restart" and not restart):
        return True
    started_so = restarted and not setting.pending_restart
    return answered or started_so or setting.value == snapshot.active[name] or _active_as_in_file(live, name, text)


def _active_as_in_file(live: LiveSettings, name: str, text: str | None) -> bool:
    """Whether the active value is what the file says, which it was not when the snapshot was taken."""
    try:
        return text is not None and live.parse(name, text) == live.values[name]
    except InvalidConfiguration:
        return False
