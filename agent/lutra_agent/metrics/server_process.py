"""The memory of the server's process and its children, and the limits of the process: from files that any account may
read.

If a file cannot be read, less memory is counted, never more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MAY_RAISE_LIMITS = 1 << 24
"""CAP_SYS_RESOURCE: such a process raises its own limits when it needs to."""
MOST_CHILDREN = 100_000


@dataclass(frozen=True)
class Held:
    """Bytes of ordinary pages and of huge ones, and the number of processes and threads."""

    pages: int
    huge: int
    tasks: int


class ServerProcess:
    """The process `pid`, as `proc` shows it."""

    def __init__(self, proc: Path, pid: int) -> None:
        self._proc = proc
        self._pid = pid

    def held(self) -> Held | None:
        """None if the process does not show its memory.

        Shared memory counts once: the largest part that one process has touched. A child shares the memory that its
        parent had at the fork, and has changed at least the part beyond its parent's.
        """
        root = self._status(self._pid)
        if "RssAnon" not in root:
            return None
        found = [(root, 0), *self._children(self._pid, root["RssAnon"], MOST_CHILDREN)]
        own = sum(max(0, status.get("RssAnon", 0) - parent) for status, parent in found)
        shared, huge = (max(s.get(name, 0) for s, _ in found) for name in ("RssShmem", "HugetlbPages"))
        return Held(own + shared, huge, sum(s.get("Threads", 1) for s, _ in found))

    def shm_bytes(self) -> int | None:
        """The size of /dev/shm as the process sees it; None if this account may not look into its folders."""
        try:
            found = os.statvfs(self._proc / str(self._pid) / "root/dev/shm")
        except OSError:
            return None
        return found.f_blocks * found.f_frsize

    def open_files(self) -> int | None:
        """None if unknown, or if the process raises the limit by itself."""
        if self._status(self._pid).get("CapEff", 0) & MAY_RAISE_LIMITS:
            return None
        for line in _text(self._proc / str(self._pid) / "limits").splitlines():
            if line.startswith("Max open files"):
                soft = line.removeprefix("Max open files").split()[:1]
                return int(soft[0]) if soft and soft[0].isdigit() else None
        return None

    def _children(self, pid: int, parents: int, most: int) -> Iterator[tuple[Mapping[str, int], int]]:
        """Each with what its parent holds of its own; at most so many, as they may come faster than they are read."""
        for child in _text(self._proc / str(pid) / "task" / str(pid) / "children").split()[:most]:
            status = self._status(int(child))
            if status:
                yield status, parents
                yield from self._children(int(child), status.get("RssAnon", 0), most // 10)

    def _status(self, pid: int) -> Mapping[str, int]:
        """Bytes and counts by name; empty if the process is gone."""
        found: dict[str, int] = {}
        for line in _text(self._proc / str(pid) / "status").splitlines():
            name, _, rest = line.partition(":")
            words = rest.split()
            if name == "CapEff" and words:
                found[name] = int(words[0], 16)
            elif words and words[0].isdigit():
                found[name] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
        return found


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
