"""Ways back, kept on disk: snapshots of what was active, and the road to them with the server up or down."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from lutra_models.catalog import Change, load
from lutra_models.catalog.facts import Server
from lutra_models.errors import InvalidConfiguration

from lutra_agent.control import Control
from lutra_agent.engines.base import Engine, Statement
from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable, DidNotStart
from lutra_agent.read_back import read_back, stands
from lutra_agent.saved_file import SavedFile, save_file
from lutra_agent.snapshot import Snapshot as Snapshot
from lutra_agent.state import State

LAST_KNOWN_GOOD = "last_known_good"
BASELINE = "baseline"

log = logging.getLogger(__name__)


def take(engine: Engine, server: Server) -> Snapshot:
    settings = server.settings.items()
    texts, active = {n: s.persisted for n, s in settings}, {n: s.value for n, s in settings}
    return Snapshot(texts, active, save_file(engine.settings_file()), engine.data_dir())


def keep(state: State, name: str, snapshot: Snapshot) -> None:
    """Store a snapshot, unless the same one is there already: the file's bytes count, others write there too."""
    if find(state, name) != snapshot:
        state.save(name, snapshot.to_dict())


def find(state: State, name: str) -> Snapshot | None:
    """None where none is kept that can be read."""
    content = state.load(name)
    try:
        return None if content is None else Snapshot.from_dict(content)
    except ValueError as error:
        log.error("the snapshot %s is unreadable: %s", name, error)
        return None


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
    """Make the snapshot's text of `names` stand again and, with `restart`, active too; and see that it is so.

    A server that is down gets the whole file back and is started. Raises DidNotStart, ApplyRefused and
    DatabaseUnavailable.
    """
    if control.up():
        try:
            _while_up(engine, control, snapshot, names, restart)
            return
        except CollectionFailed as error:
            raise ApplyRefused("internal_error", str(error)) from error
        except (DatabaseUnavailable, DidNotStart) as error:
            log.error("restoring by statements failed: %s", error)
            if control.up():  # it lives, and is to be given the statements again: nothing to start
                raise
    _by_file(engine, control, snapshot, names, restart)


def _while_up(engine: Engine, control: Control, snapshot: Snapshot, names: list[str], restart: bool) -> None:
    refused = _by_statements(engine, control, snapshot, names, restart)
    if not control.way_back.arrived and (refused or (restart and not stands(engine, snapshot, names))):
        control.way_back.begin()
        control.restart()
        control.way_back.arrive()
    read_back(engine, control, snapshot, names, restart, engine.rounds)


def _by_statements(engine: Engine, control: Control, snapshot: Snapshot, names: list[str], restart: bool) -> bool:
    """Whether the server has to be restarted for it, because it refuses statements."""
    statements = [s for n in names for s in engine.put_back(n, snapshot.texts[n], snapshot.active[n], restart)]
    try:
        engine.execute(statements)
    except ApplyRefused as error:
        if snapshot.file is None:
            raise
        log.error("the server refuses to be restored by statements (%s): restoring its file", error)
        _restore(engine, snapshot, snapshot.file)
        return _only_by_restart(engine, control, statements)
    _restore_bytes(engine, snapshot, names)
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


def _restore_bytes(engine: Engine, snapshot: Snapshot, names: Iterable[str]) -> None:
    """Give the file its bytes back where it says the same in other words (an order, a time).

    Where it does not say what was put back of `names`, the server had no room to write that, and kept silent.
    """
    file = snapshot.file
    now = None if file is None else save_file(file.path)
    if file is None or now is None or now.content == file.content:
        return
    says, said = (dict(engine.file_says(content or b"")) for content in (now.content, file.content))
    if says == said or any(says.get(n) != said.get(n) for n in names):
        _restore(engine, snapshot, file)


def _restore(engine: Engine, snapshot: Snapshot, file: SavedFile) -> None:
    """Put the whole file back, and say what of others' goes with it: the names alone, a text may be a secret."""
    now = save_file(file.path)
    says, said = (engine.file_says((f and f.content) or b"") for f in (now, file))
    lost = sorted(n for n in {*says, *said} - set(snapshot.texts) if says.get(n) != said.get(n))
    if lost:
        log.warning("restoring %s undoes what others wrote there since: %s", file.path, ", ".join(lost))
    file.restore()


def _by_file(engine: Engine, control: Control, snapshot: Snapshot, names: list[str], restart: bool) -> None:
    control.heed_pause()
    if snapshot.file is None:
        raise DidNotStart("the server is down, and its settings file is not the agent's to restore")
    _restore(engine, snapshot, snapshot.file)
    log.warning("restored %s; bringing the server back", snapshot.file.path)
    anew = control.bring_back(snapshot.data_dir)
    if anew:
        control.way_back.arrive()
    read_back(engine, control, snapshot, names, restart, anew and engine.rounds)
