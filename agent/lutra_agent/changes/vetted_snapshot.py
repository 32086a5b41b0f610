"""A snapshot from another account's folder, as far as root may restore it.

That account chose every byte of it. With it, root writes only settings of the catalogue, into the settings file that
the server, or the agent's own file, names: other lines, the file's owner and its mode do not change.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from lutra_models.catalog import load
from lutra_models.errors import ApplyCode

from lutra_agent.engines.common.source import Backing, SettingSource
from lutra_agent.errors import ApplyRefused, DatabaseUnavailable
from lutra_agent.files.accounts import ROOT, acting_for, owner_of
from lutra_agent.files.atomic import read_regular
from lutra_agent.files.saved_file import SavedFile
from lutra_agent.state.snapshot import Snapshot, Snapshots

VALUE = re.compile(r"[A-Za-z0-9_.,:=+ -]{0,200}")
"""The text of a catalogue setting: a number with its unit, a word, a list of switches."""

MOST_OPEN = 0o644
"""For a file that is gone: a server's account may have to read one that is not its own."""

WAY_OUT = "set restart.data_dir in the agent's own file, or database.config_file where the engine has it"

log = logging.getLogger(__name__)


def vetted(sources: Iterable[SettingSource], snapshots: Snapshots, data_dir: Path | None) -> Snapshots:
    """`data_dir` as the agent's own file names it. Raises ApplyRefused if no settings file can be trusted."""
    return {s.name: _vetted(s, snapshots[s.name], data_dir) for s in sources if s.name in snapshots}


def _vetted(source: SettingSource, snapshot: Snapshot, data_dir: Path | None) -> Snapshot:
    rows = {r.name for r in load(source.catalogue).rows}
    names = [n for n in snapshot.texts if n in rows and _plain(snapshot, n)]
    if odd := sorted(set(snapshot.texts) - set(names)):
        log.warning("not restored, because the catalogue does not have these settings or values: %s", ", ".join(odd))
    texts, active = {n: snapshot.texts[n] for n in names}, {n: snapshot.active[n] for n in names}
    found = replace(snapshot, texts=texts, active=active, data_dir=data_dir or snapshot.data_dir)
    backing = source.backing
    path = None if backing is None else _settings_file(backing, data_dir)
    return replace(found, file=None if backing is None or path is None else _file(backing, found, path))


def _plain(snapshot: Snapshot, name: str) -> bool:
    texts = (snapshot.texts[name] or "", snapshot.active.get(name, "\0"))
    return all(VALUE.fullmatch(text) for text in texts)


def _settings_file(backing: Backing, data_dir: Path | None) -> Path | None:
    configured = backing.settings_file_in(data_dir)
    try:
        path = backing.settings_file()
    except DatabaseUnavailable:
        if configured is None:
            message = "the server is down, and only a different account names its settings file"
            raise ApplyRefused(ApplyCode.INTERNAL_ERROR, f"{message}: {WAY_OUT}") from None
        path = configured
    if path is None:
        return None
    if configured is None:
        _require_harmless(backing, path)
    elif configured.resolve() != path.resolve():
        raise ApplyRefused(ApplyCode.INTERNAL_ERROR, f"the server names {path} as its settings file, not {configured}")
    real = path.parent.resolve() / path.name
    if real != path:
        message = f"{path} is reached through a symbolic link: name its real path {real.parent} in the agent's own file"
        raise ApplyRefused(ApplyCode.INTERNAL_ERROR, message)
    return path


def _require_harmless(backing: Backing, path: Path) -> None:
    """Whoever took the server's port, while it was down, may name a file. Raises ApplyRefused if it leads further
    than to a file of the server's own kind of name in another account's folder.
    """
    try:
        harmless = backing.settings_file_in(path.parent) == path and owner_of(path.parent)[0] != ROOT
    except OSError:
        harmless = False
    if not harmless:
        raise ApplyRefused(ApplyCode.INTERNAL_ERROR, f"the server alone names {path} as its settings file: {WAY_OUT}")


def _file(backing: Backing, snapshot: Snapshot, path: Path) -> SavedFile:
    """The file as it is now, with the snapshot's texts in it."""
    mode = MOST_OPEN & (snapshot.file.mode if snapshot.file else 0)
    try:
        with acting_for(path.parent):
            content, status = read_regular(path)
        mode, owner = status.st_mode & 0o777, (status.st_uid, status.st_gid)
    except FileNotFoundError:
        content, owner = b"", owner_of(path.parent)
        mode |= 0o600
    except OSError as error:
        raise ApplyRefused(ApplyCode.INTERNAL_ERROR, f"{path}: {error.strerror or error}") from error
    try:
        wanted = backing.rewritten(content, snapshot.texts)
    except ValueError as error:
        raise ApplyRefused(ApplyCode.INTERNAL_ERROR, f"{path}: {error}") from error
    absent = not content and not any(snapshot.texts.values()) and not os.path.lexists(path)
    return SavedFile(path, None if absent else wanted, mode, owner, for_folders_owner=True)
