"""Snapshots of what is active, and how one is restored with the server up or down."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from lutra_models.catalog import Change, LiveSettings
from lutra_models.catalog.statements import Step
from lutra_models.errors import InvalidConfiguration
from lutra_models.server import Server

from lutra_agent.changes.verify import is_restored, verify_restored
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable, DidNotStart
from lutra_agent.files.saved_file import SavedFile, save_file
from lutra_agent.state.snapshot import BASELINE, Snapshot, stored_snapshot
from lutra_agent.state.store import State

log = logging.getLogger(__name__)


def take_snapshot(engine: Engine, server: Server) -> Snapshot:
    settings = server.settings.items()
    texts, active = {n: s.persisted for n, s in settings}, {n: s.value for n, s in settings}
    return Snapshot(texts, active, save_file(engine.own.settings_file()), engine.health.data_dir())


def differences(server: Server, snapshot: Snapshot) -> list[str]:
    """The settings whose file text, or whose active value, is not the snapshot's."""
    return [
        name
        for name, setting in server.settings.items()
        if name in snapshot.texts
        and (setting.persisted != snapshot.texts[name] or setting.value != snapshot.active[name])
    ]


def baseline_statements(
    engine: Engine, state: State, live: LiveSettings, changes: Sequence[Change], restart: bool
) -> list[Step]:
    """The changes as statements, with the baseline's own text for each setting whose baseline value is the wanted one.

    So a setting that had no line in the baseline's file gets none.
    """
    baseline = stored_snapshot(state, BASELINE)
    if baseline is None:
        return []
    statements: list[Step] = []
    for change in changes:
        active = baseline.active.get(change.name)
        if active is not None and _means(live, change, active):
            statements += engine.own.undo(change.name, baseline.texts[change.name], active, restart)
        else:
            statements += engine.own.plan(change, restart)
    return statements


def _means(live: LiveSettings, change: Change, text: str) -> bool:
    try:
        return live.parse(change.name, text) == change.after
    except InvalidConfiguration:  # this server takes it no longer
        return False


def restore(engine: Engine, control: ServerControl, snapshot: Snapshot, names: list[str], restart: bool) -> None:
    """Restore the snapshot's texts of `names` in the settings file and, with `restart`, their values; then verify it.

    A server that is down gets the whole file back and is started. Raises DidNotStart, ApplyRefused and
    DatabaseUnavailable.
    """
    if control.up():
        try:
            _restore_online(engine, control, snapshot, names, restart)
            return
        except CollectionFailed as error:
            raise ApplyRefused("internal_error", str(error)) from error
        except (DatabaseUnavailable, DidNotStart) as error:
            log.error("the restore by statements failed: %s", error)
            if control.up():  # it runs, and gets the statements again with the next attempt: nothing to start
                raise
    _restore_offline(engine, control, snapshot, names, restart)


def _restore_online(
    engine: Engine, control: ServerControl, snapshot: Snapshot, names: list[str], restart: bool
) -> None:
    refused = _undo_by_statements(engine, control, snapshot, names, restart)
    if not control.progress.restarted and (refused or (restart and not is_restored(engine, snapshot, names))):
        control.progress.note("started")
        control.restart()
        control.progress.note("restarted")
    verify_restored(engine, control, snapshot, names, restart, engine.own.rounds)


def _undo_by_statements(
    engine: Engine, control: ServerControl, snapshot: Snapshot, names: list[str], restart: bool
) -> bool:
    """Whether the server has to be restarted, because it refuses the statements."""
    statements = [
        s for n in reversed(names) for s in engine.own.undo(n, snapshot.texts[n], snapshot.active[n], restart)
    ]
    try:
        engine.own.execute(statements)
    except ApplyRefused as error:
        if snapshot.file is None:
            raise
        log.error("the server refuses the statements of the restore (%s): restoring its file", error)
        _restore_file(engine, snapshot, snapshot.file)
        return _needs_restart(engine, control, statements)
    _restore_bytes(engine, snapshot, names)
    engine.own.reload()
    return False


def _needs_restart(engine: Engine, control: ServerControl, statements: Sequence[Step]) -> bool:
    """Whether nothing else makes the restored file active; a full disk refused the file alone."""
    try:
        if engine.own.reads_file_at_start_alone:
            engine.own.execute(statements)
        engine.own.reload()
    except ApplyRefused:
        if not control.may_restart:
            raise
        return True
    return False


def _restore_bytes(engine: Engine, snapshot: Snapshot, names: Iterable[str]) -> None:
    """Restore the file's bytes where it says the same differently (another order, another time stamp).

    Where it lacks a restored text of `names`, the server had no room to write it and reported no error.
    """
    file = snapshot.file
    now = None if file is None else save_file(file.path)
    if file is None or now is None or now.content == file.content:
        return
    found, wanted = (dict(engine.own.file_says(content or b"")) for content in (now.content, file.content))
    if found == wanted or any(found.get(n) != wanted.get(n) for n in names):
        _restore_file(engine, snapshot, file)


def _restore_file(engine: Engine, snapshot: Snapshot, file: SavedFile) -> None:
    """Restore the whole file, and log which settings of others are lost: their names alone, a text may be a secret."""
    now = save_file(file.path)
    found, wanted = (engine.own.file_says((f and f.content) or b"") for f in (now, file))
    lost = sorted(n for n in {*found, *wanted} - set(snapshot.texts) if found.get(n) != wanted.get(n))
    if lost:
        log.warning("restoring %s undoes what others wrote there since: %s", file.path, ", ".join(lost))
    file.restore()


def _restore_offline(
    engine: Engine, control: ServerControl, snapshot: Snapshot, names: list[str], restart: bool
) -> None:
    control.require_not_paused()
    if snapshot.file is None:
        raise DidNotStart("the server is down, and its settings file is not the agent's to restore")
    _restore_file(engine, snapshot, snapshot.file)
    log.warning("restored %s; starting the server", snapshot.file.path)
    restarted = control.start_or_wait(snapshot.data_dir)
    if restarted:
        control.progress.note("restarted")
    verify_restored(engine, control, snapshot, names, restart, restarted and engine.own.rounds)
