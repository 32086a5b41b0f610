"""A small host inside this one: control groups (version 1) that limit a server's memory and its disk's requests.

The processors are not limited; but this process, the server and the load that it starts go before whatever else runs.

Version 1 counts what a process asks of the disk itself: direct writes, and buffered ones when they are synchronised.
Buffered writes that the kernel writes back by itself escape it, so a study's servers write their data files directly.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from lutra_lab.servers.errors import LabError

CGROUPS = Path("/sys/fs/cgroup")
PATIENCE_S = 30.0
CPU_SHARES = 8 * 1024
"""As much as 8 busy processes of ordinary priority; with far more the kernel's own threads would have to wait."""
ENTER = 'for group in "$1" "$2"; do echo $$ > "$group/cgroup.procs" || exit 1; done; shift 2; exec "$@"'


@dataclass(frozen=True)
class Limits:
    read_iops: int = 3000
    write_iops: int = 800
    memory_bytes: int = 4 << 30


class SmallHost:
    """As a context manager: the groups exist within. `disk` is as `device` gives it."""

    def __init__(self, name: str, disk: str, limits: Limits, root: Path = CGROUPS) -> None:
        self._disk, self._memory, self._cpu = (root / controller / name for controller in ("blkio", "memory", "cpu"))
        self._device = disk
        self._limits = limits

    def __enter__(self) -> SmallHost:
        try:
            for group in (self._disk, self._memory, self._cpu):
                group.mkdir(exist_ok=True)
            (self._cpu / "cpu.shares").write_text(str(CPU_SHARES))
            (self._cpu / "cgroup.procs").write_text(str(os.getpid()))
            (self._memory / "memory.limit_in_bytes").write_text(str(self._limits.memory_bytes))
            self._throttle(self._limits.read_iops, self._limits.write_iops)
        except OSError as error:
            raise LabError(f"{error.filename}: {error.strerror}; the lab needs root and control groups 1") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        deadline = time.monotonic() + PATIENCE_S
        (self._cpu.parent / "cgroup.procs").write_text(str(os.getpid()))
        for group in (self._disk, self._memory, self._cpu):
            while not _removed(group) and time.monotonic() < deadline:
                time.sleep(0.1)

    def command(self, argv: Sequence[str]) -> tuple[str, ...]:
        """`argv` as it runs within the limits, with everything that it starts."""
        return ("/bin/sh", "-c", ENTER, "sh", str(self._disk), str(self._memory), *argv)

    @contextlib.contextmanager
    def unhurried(self) -> Iterator[None]:
        """The disk at its own speed: for what is not measured."""
        self._throttle(0, 0)
        try:
            yield
        finally:
            self._throttle(self._limits.read_iops, self._limits.write_iops)

    def requests(self) -> dict[str, int]:
        """Reads and writes that the disk has served from within the group, warm-up or not."""
        lines = (line.split() for line in (self._disk / "blkio.throttle.io_serviced").read_text().splitlines())
        counted = {words[1].lower(): int(words[2]) for words in lines if words[0] == self._device}
        return {kind: counted.get(kind, 0) for kind in ("read", "write")}

    def held_bytes(self) -> int:
        """What the processes of the group hold in memory now, without the cache of their files."""
        lines = (line.split() for line in (self._memory / "memory.stat").read_text().splitlines())
        return next(int(number) for name, number in lines if name == "total_rss")

    def killed(self) -> int:
        """Processes of the group that the kernel ended because it was out of memory, since the group was made."""
        lines = (line.split() for line in (self._memory / "memory.oom_control").read_text().splitlines())
        return next(int(number) for name, number in lines if name == "oom_kill")

    def _throttle(self, read_iops: int, write_iops: int) -> None:
        for kind, number in (("read", read_iops), ("write", write_iops)):
            (self._disk / f"blkio.throttle.{kind}_iops_device").write_text(f"{self._device} {number}")


def device(folder: Path, sys: Path = Path("/sys")) -> str:
    """ "254:0": the whole disk under `folder`, also where that lies on a partition."""
    number = folder.stat().st_dev
    entry = (sys / "dev/block" / f"{os.major(number)}:{os.minor(number)}").resolve()
    if not (entry / "dev").exists():
        raise LabError(f"{folder} lies on no disk of its own, so that its requests cannot be limited")
    return ((entry.parent if (entry / "partition").exists() else entry) / "dev").read_text().strip()


def _removed(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
