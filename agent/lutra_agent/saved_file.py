"""The server's settings file as it was, to be written back byte by byte."""

from __future__ import annotations

import errno
import logging
import os
from dataclasses import dataclass
from pathlib import Path

from lutra_agent.errors import ApplyRefused
from lutra_agent.files import overwrite, remove, write_atomically

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SavedFile:
    """A settings file byte by byte, with its owner and mode. `content` None: there was no such file."""

    path: Path
    content: bytes | None
    mode: int
    owner: tuple[int, int]

    def restore(self) -> None:
        """Raises ApplyRefused where the disk does not take it."""
        try:
            if self.content is None:
                remove(self.path)
            elif not self.path.exists() or self.path.read_bytes() != self.content:
                self._write(self.content)
        except OSError as error:
            raise ApplyRefused("internal_error", f"{self.path} cannot be restored: {error.strerror}") from error

    def _write(self, content: bytes) -> None:
        try:
            write_atomically(self.path, content, self.mode, self.owner)
        except OSError as error:
            # A full disk has no room for a second copy, and only root may give away a file.
            if error.errno not in (errno.ENOSPC, errno.EPERM):
                raise
            log.error("%s: %s: writing over it", self.path, error.strerror)
            overwrite(self.path, content)


def save_file(path: Path | None) -> SavedFile | None:
    """The file's bytes, where this account may read it and write them back; a file that is not there yet too."""
    if path is None or not os.access(path.parent, os.W_OK | os.X_OK):
        return None
    if not path.exists():
        return SavedFile(path, None, 0o600, (os.geteuid(), os.getegid()))
    status = path.stat()
    writable = os.geteuid() in (0, status.st_uid) or os.access(path, os.W_OK)
    if not (writable and os.access(path, os.R_OK)):
        return None
    return SavedFile(path, path.read_bytes(), status.st_mode & 0o7777, (status.st_uid, status.st_gid))
