"""The remains of an ended scratch server, and their removal."""

from __future__ import annotations

import contextlib
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from lutra_lab.servers import processes
from lutra_lab.servers.errors import LabError

PAUSE_S = 0.25
ROUNDS = 20


@dataclass(frozen=True)
class Remains:
    """Processes that run with one of `arguments`, and files of `patterns` in `directory`.

    `number` is the signal that ends the server and its children at once. The directory itself goes where `made`.
    """

    directory: Path
    patterns: tuple[str, ...]
    arguments: tuple[str, ...]
    number: signal.Signals
    made: bool

    def files(self) -> Iterator[Path]:
        if self.directory.exists():
            yield from (p for p in self.directory.iterdir() if any(fnmatch(p.name, name) for name in self.patterns))

    def clear(self) -> None:
        """Raises LabError if something stays. An agent may be in the middle of a restart: it is ended, too."""
        for _ in range(ROUNDS):
            processes.kill(self.arguments, self.number)
            for path in self.files():
                _delete(path)
            if not (any(self.files()) or processes.having(self.arguments)):
                break
            time.sleep(PAUSE_S)
        else:
            raise LabError(f"{self.directory} keeps being rewritten")
        if self.made:
            with contextlib.suppress(OSError):  # somebody else's file is in it, or it is gone already
                self.directory.rmdir()


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
