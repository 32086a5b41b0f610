"""The server's settings file as it was, to be written back byte by byte."""

from __future__ import annotations

import errno
import logging
import os
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from lutra_models.errors import ApplyCode

from lutra_agent.errors import ApplyRefused
from lutra_agent.files.accounts import acting_for
from lutra_agent.files.atomic import overwrite, read_regular, remove, write_atomically

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SavedFile:
    """A settings file byte by byte, with its owner and mode. `content` None: there was no such file.

    `for_folders_owner`: root writes it with no more rights than the owner of its folder has.
    """

    path: Path
    content: bytes | None
    mode: int
    owner: tuple[int, int]
    for_folders_owner: bool = False

    def restore(self) -> None:
        """Raises ApplyRefused if the disk does not accept it."""
        try:
            with acting_for(self.path.parent) if self.for_folders_owner else nullcontext():
                self._restore()
        except OSError as error:
            raise ApplyRefused(ApplyCode.INTERNAL_ERROR, f"{self.path} cannot be restored: {error.strerror}") from error

    def _restore(self) -> None:
        if self.content is None:
            remove(self.path)
        elif not self.path.exists() or read_regular(self.path)[0] != self.content:
            self._write(self.content)

    def _write(self, content: bytes) -> None:
        try:
            write_atomically(self.path, content, self.mode, self.owner)
        except OSError as error:
            # A full disk has no room for a second copy, and only root may give away a file.
            if error.errno not in (errno.ENOSPC, errno.EPERM):
                raise
            log.error("%s: %s: overwriting it", self.path, error.strerror)
            overwrite(self.path, content)


def save_file(path: Path | None) -> SavedFile | None:
    """The file's bytes, if this account may read the file and write them back, even if the file does not exist yet."""
    if path is None or not os.access(path.parent, os.W_OK | os.X_OK):
        return None
    try:
        content, status = read_regular(path)
    except FileNotFoundError:
        return SavedFile(path, None, 0o600, (os.geteuid(), os.getegid()))
    except OSError:
        return None
    if not (os.geteuid() in (0, status.st_uid) or os.access(path, os.W_OK)):
        return None
    return SavedFile(path, content, status.st_mode & 0o777, (status.st_uid, status.st_gid))
