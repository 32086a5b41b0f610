"""Ways back, kept on disk: snapshots of what was active, and the road to them with the server up or down."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lutra_models.catalog import Change, load
from lutra_models.catalog.facts import Server
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import fingerprint

from lutra_agent.control import Control
from lutra_agent.engines.base import Engine, Statement
from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable, DidNotStart
from lutra_agent.saved_file import SavedFile, save_file
from lutra_agent.state import State

LAST_KNOWN_GOOD = "last_known_good"
BASELINE = "baseline"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Snapshot:
    """A configuration to come back to: what the settings file said of each setting, and what was active.

    `file` is None where the agent's account may not read it: then there is a way back only while the server is up.
    """

    texts: Mapping[str, str | None]
    active: Mapping[str, str]
    file: SavedFile | None

    def to_dict(self) -> dict[str, Any]:
        file = self.file and {
            "path": str(self.file.path),
            "content": None if self.file.content is None else base64.b64encode(self.file.content).decode(),
            "mode": self.file.mode,
            "owner": list(self.file.owner),
        }
        return {"texts": dict(self.texts), "active": dict(self.active), "file": file}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Snapshot:
        kept = content["file"]
        if kept is None:
            return cls(content["texts"], content["active"], None)
        text = None if kept["content"] is None else base64.b64decode(kept["content"])
        file = SavedFile(Path(kept["path"]), text, kept["mode"], (kept["owner"][0], kept["owner"][1]))
        return cls(content["texts"], content["active"], file)

    def same(self, other: Snapshot) -> bool:
        return fingerprint([self.texts, self.active]) == fingerprint([other.texts, other.active])


def take(engine: Engine, server: Server) -> Snapshot:
    settings = server.settings.items()
    return Snapshot(
        {n: s.persisted for n, s in settings}, {n: s.value for n, s in settings}, save_file(engine.settings_file())
    )


def keep(state: State, name: str, snapshot: Snapshot) -> None:
    """Store a snapshot, unless the same one is there already."""
    known = find(state, name)
    if known is None or not known.same(snapshot):
        state.save(name, snapshot.to_dict())


def find(state: State, name: str) -> Snapshot | None:
    content = state.load(name)
    return None if content is None else Snapshot.from_dict(content)


def differences(server: Server, snapshot: Snapshot) -> list[str]:
    """The settings whose file text, or whose active value, is not the snapshot's."""
    return [
        name
        for name, setting in server.settings.items()
        if name in snapshot.texts
        and (setting.persisted != snapshot.texts[name] or setting.value != snapshot.active[name])
    ]


def former_words(
    engine: Engine, state: State, server: Server, changes: Sequence[Change], restart: bool
) -> list[Statement]:
    """A way back in the baseline's words where these gave the same value: no line in the file where there was none."""
    baseline = find(state, BASELINE)
    if baseline is None:
        return []
    statements: list[Statement] = []
    for change in changes:
        active = baseline.active.get(change.name)
        if active is not None and _means(server, change, active):
            statements += engine.put_back(change.name, baseline.texts[change.name], active, restart)
        else:
            statements += engine.change(change, restart)
    return statements


def _means(server: Server, change: Change, text: str) -> bool:
    try:
        return load(server.engine).parse(server, change.name, text) == change.after
    except InvalidConfiguration:  # this server takes it no longer
        return False


def go_back(engine: Engine, control: Control, snapshot: Snapshot, names: list[str], restart: bool) -> None:
    """Make the snapshot's text of `names` stand again and, with `restart`, active too.

    A server that is down gets the whole file back and is started. Raises DidNotStart, ApplyRefused and
    DatabaseUnavailable.
    """
    if control.up():
        try:
            if _by_statements(engine, control, snapshot, names, restart) or restart:
                control.restart()
            return
        except CollectionFailed as error:
            raise ApplyRefused("internal_error", str(error)) from error
        except (DatabaseUnavailable, DidNotStart) as error:
            log.error("the way back by statements failed: %s", error)
            if control.up():  # it lives, and is to be given the statements again: nothing to start
                raise
    _by_file(control, snapshot)


def _by_statements(engine: Engine, control: Control, snapshot: Snapshot, names: list[str], restart: bool) -> bool:
    """Whether the server has to be restarted for it, because it refuses statements."""
    statements = [s for n in names for s in engine.put_back(n, snapshot.texts[n], snapshot.active[n], restart)]
    try:
        engine.execute(statements)
    except ApplyRefused as error:
        if snapshot.file is None:
            raise
        log.error("the server refuses the way back (%s): restoring its file", error)
        snapshot.file.restore()
        return _only_by_restart(engine, control, statements)
    _restore_bytes(engine, snapshot.file, names)
    engine.reload()
    return False


def _only_by_restart(engine: Engine, control: Control, statements: Sequence[Statement]) -> bool:
    """Whether nothing else makes the restored file active; a full disk refused the file alone."""
    try:
        if engine.reads_file_at_start_alone:
            engine.execute(statements)
        engine.reload()
    except ApplyRefused:
        if not control.may_restart:
            raise
        return True
    return False


def _restore_bytes(engine: Engine, file: SavedFile | None, names: Iterable[str]) -> None:
    """Give the file its bytes back where it says the same in other words (an order, a time).

    Where it does not say what was put back of `names`, the server had no room to write that, and kept silent.
    """
    now = None if file is None else save_file(file.path)
    if file is None or now is None or now.content == file.content:
        return
    says, said = (dict(engine.file_says(content or b"")) for content in (now.content, file.content))
    if says == said or any(says.get(n) != said.get(n) for n in names):
        file.restore()


def _by_file(control: Control, snapshot: Snapshot) -> None:
    if snapshot.file is None:
        raise DidNotStart("the server is down, and its settings file is not the agent's to restore")
    snapshot.file.restore()
    log.warning("restored %s; starting the server", snapshot.file.path)
    control.start()
