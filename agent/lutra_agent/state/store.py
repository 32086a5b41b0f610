"""The agent's folder: its lock, the pause flag, and small documents that survive a crash intact."""

from __future__ import annotations

import fcntl
import logging
import os
from pathlib import Path
from typing import Any

from lutra_agent.errors import ConfigError
from lutra_agent.files.accounts import acting_for, is_anothers, owner_of
from lutra_agent.files.atomic import (
    NO_ROOM,
    is_read_only,
    make_empty,
    make_folder,
    read_json,
    remove,
    remove_unfinished,
    write_json,
)

OTHERS_WRITE = 0o022

log = logging.getLogger(__name__)


class State:
    """The agent's folder on disk. Nothing here needs the service or the database.

    Root works in another account's folder with that account's rights.
    """

    def __init__(self, folder: Path) -> None:
        """Raises ConfigError if the folder is not this account's."""
        try:
            make_folder(folder)
            wanted = os.R_OK | os.X_OK | (0 if is_read_only(folder) else os.W_OK)
            problem = "" if os.access(folder, wanted) else "this account may not read and write it"
        except OSError as error:
            problem = error.strerror or str(error)
        if problem:
            account = os.geteuid()
            remedy = f"as root: install -d -o {account} -m 0700 {folder}"
            raise ConfigError(f"agent.state_dir: {folder}: {problem} (user id {account}); {remedy}")
        if folder.stat().st_mode & OTHERS_WRITE:
            raise ConfigError(f"agent.state_dir: other accounts may write to {folder}: chmod 700 {folder}")
        self.folder = folder
        self._lock: int | None = None
        self._held: dict[str, Any] = {}

    @property
    def is_anothers(self) -> bool:
        """Whether the content here was written by another account."""
        return is_anothers(self.folder)

    @property
    def owner(self) -> int:
        return owner_of(self.folder)[0]

    def lock(self) -> bool:
        """Take the folder for this process; False if another agent has it. Freed when the process ends."""
        with acting_for(self.folder):
            descriptor = self._lock_file()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._lock = descriptor
        try:
            with acting_for(self.folder):
                remove_unfinished(self.folder)
        except OSError as error:
            log.error("%s cannot be written: %s", self.folder, error.strerror)
        return True

    def _lock_file(self) -> int:
        """The folder itself where its disk takes no new file: then no other agent has one there either."""
        file, how = self.folder / "lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            make_empty(file)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            return os.open(self.folder, how | os.O_DIRECTORY)
        return os.open(file, how)

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def paused(self) -> bool:
        return os.path.lexists(self.folder / "paused")

    def pause(self) -> None:
        with acting_for(self.folder):
            make_empty(self.folder / "paused")

    def resume(self) -> None:
        with acting_for(self.folder):
            (self.folder / "paused").unlink(missing_ok=True)

    def load(self, name: str) -> Any:
        if name in self._held:
            return self._held[name]
        with acting_for(self.folder):
            return read_json(self.folder / f"{name}.json")

    def save(self, name: str, content: Any) -> None:
        with acting_for(self.folder):
            write_json(self.folder / f"{name}.json", content)
        self._held.pop(name, None)

    def save_or_hold(self, name: str, content: Any) -> bool:
        """Whether it is on disk; what a full disk does not take, this process alone knows until `save_held`."""
        try:
            self.save(name, content)
        except OSError as error:
            log.error("%s cannot be written to %s yet: %s", name, self.folder, error)
            self._held[name] = content
            return False
        return True

    def save_held(self) -> None:
        for name, content in list(self._held.items()):
            self.save_or_hold(name, content)

    def forget(self, name: str) -> None:
        with acting_for(self.folder):
            remove(self.folder / f"{name}.json")
