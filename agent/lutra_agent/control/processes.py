"""The database server among this host's processes, even if it does not answer (yet)."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import psutil


def works_in(folder: Path, programs: Collection[str]) -> bool:
    """Whether a process of one of `programs` has its working directory here.

    A server goes into its data folder before it recovers what lies there; it listens, and may show its number, only
    after that. A process into which this account may not look counts as none.
    """
    return any(_is(process, folder.resolve(), programs) for process in psutil.process_iter())


def _is(process: psutil.Process, folder: Path, programs: Collection[str]) -> bool:
    try:
        # A loader may stand before the program in its arguments.
        names = (process.name(), *(Path(a).name for a in process.cmdline()))  # some rewrite their arguments
        return any(name in programs for name in names) and Path(process.cwd()) == folder
    except (psutil.Error, OSError):
        return False
