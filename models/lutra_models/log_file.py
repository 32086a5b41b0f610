"""The log of a program that `lutra` starts: its standard error, which is a file of its own folder."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import stat
from pathlib import Path
from typing import TextIO

MOST_BYTES = 10 << 20
OLDER = ".1"


class LogHandler(logging.StreamHandler[TextIO]):
    """Writes to standard error. If that is `file`, the file is copied to `file.1` and emptied when it exceeds a size.

    It is not renamed: this process and its children keep it open, and continue to write to it.
    """

    def __init__(self, file: Path, most_bytes: int = MOST_BYTES) -> None:
        super().__init__()
        self._file = file
        self._most_bytes = most_bytes

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        try:
            self._keep_small(self.stream.fileno())
        except (OSError, ValueError):  # a stream without a descriptor, or a disk that is full: the log goes on
            return

    def _keep_small(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        if found.st_size <= self._most_bytes or not stat.S_ISREG(found.st_mode):
            return
        appends = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND
        if not appends or not os.path.samestat(found, self._file.stat()):
            return
        older = self._file.with_name(self._file.name + OLDER)
        shutil.copyfile(self._file, older)
        older.chmod(stat.S_IMODE(found.st_mode))
        os.ftruncate(descriptor, 0)
