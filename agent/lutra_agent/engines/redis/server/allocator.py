"""Whether a server can defragment its memory: it has to be built with its own jemalloc, and does not report that."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil

from lutra_agent.files.atomic import read_regular, real

LIBRARY = b"libjemalloc.so"
"""A program that needs the system's library was not built with its own."""
LONGEST = 64 << 20
"""The size limit of a program, in bytes: a server may name any file."""


def defragments(allocator: str, pid: int | None, executable: str) -> bool:
    """`allocator` and `executable` are the server's report. A program that this host lacks is assumed to have that
    ability.

    Distributions' packages usually lack it: they refuse the setting, and do not start with it in their file.
    """
    if not allocator.startswith("jemalloc"):
        return False
    for path in _programs(pid, executable):
        try:
            return LIBRARY not in read_regular(real(path), LONGEST)[0]
        except OSError:
            continue
    return True


def _programs(pid: int | None, executable: str) -> Iterator[Path]:
    if pid is None:
        return
    program = Path(executable)
    yield program
    try:
        running = Path(psutil.Process(pid).exe())
    except psutil.Error:
        running = program
    # A loader that runs the program has another name.
    if running.name == program.name:
        yield running
    if found := shutil.which(program.name):
        yield Path(found)
