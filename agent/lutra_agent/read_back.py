"""Whether a way back has led where it should: what the server says of it, not what was told to the server."""

from __future__ import annotations

import logging

from lutra_models.catalog import load
from lutra_models.catalog.facts import Host, Server
from lutra_models.errors import InvalidConfiguration

from lutra_agent.control import Control
from lutra_agent.engines.base import Engine
from lutra_agent.errors import ApplyRefused, CollectionFailed
from lutra_agent.snapshot import Snapshot

ANY_HOST = Host(memory_bytes=1, cores=1)
"""What a server says of its settings does not depend on where it runs."""

log = logging.getLogger(__name__)


def read_back(
    engine: Engine, control: Control, snapshot: Snapshot, names: list[str], restart: bool, rounds: bool
) -> None:
    """Raises ApplyRefused, naming what of `names` is not as in the snapshot; else the way back has ended.

    `restart`: what only a restart makes active has to be. `rounds`: the server has just been given the texts, or has
    read them at its start, and a number that it made another one of is its answer.
    """

    unread = ""

    def left() -> list[str]:
        nonlocal unread
        try:
            server, unread = engine.server(ANY_HOST), ""
        except CollectionFailed as error:
            unread = str(error)
            return names
        anew = control.way_back.arrived
        return [n for n in names if n in server.settings and not _back(server, snapshot, n, restart, anew, rounds)]

    found = control.settle(left)
    if unread:  # there is nothing more that the agent could do
        log.error("what is active after the undo cannot be read: %s", unread)
    elif found:
        raise ApplyRefused("not_active_after_apply", f"still not as before: {', '.join(found)}")
    control.way_back.end()


def stands(engine: Engine, snapshot: Snapshot, names: list[str]) -> bool:
    """Whether text and value of each are the snapshot's, so that a restart would change nothing."""
    try:
        settings = engine.server(ANY_HOST).settings
    except CollectionFailed:
        return False
    now = {n: (s.persisted, s.value) for n, s in settings.items()}
    return all(now.get(n) == (snapshot.texts[n], snapshot.active[n]) for n in names)


def _back(server: Server, snapshot: Snapshot, name: str, restart: bool, anew: bool, rounds: bool) -> bool:
    setting, text = server.settings[name], snapshot.texts[name]
    answered = rounds and setting.kind in ("integer", "real") and not setting.pending_restart
    if setting.persisted != text and not (answered and None not in (setting.persisted, text)):
        return False
    if setting.shadowed or (setting.applies == "restart" and not restart):
        return True
    started_so = anew and not setting.pending_restart
    return answered or started_so or setting.value == snapshot.active[name] or _says(server, name, text)


def _says(server: Server, name: str, text: str | None) -> bool:
    """Whether the active value is what the file says, which it was not when the snapshot was taken."""
    catalog = load(server.engine)
    try:
        return text is not None and catalog.parse(server, name, text) == catalog.read(server)[name]
    except InvalidConfiguration:
        return False
