"""The limits of a process's control groups, version 1 and 2, and the use by their members."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

UNLIMITED_V1 = 1 << 60


class Cgroups:
    """The limits of one process's control groups, version 1 and 2; a group is bound by its ancestors as well."""

    def __init__(self, root: Path, membership: Path) -> None:
        self._root = root
        try:
            self._lines = [line.split(":", 2) for line in membership.read_text().splitlines()]
        except OSError:
            self._lines = []

    def memory_bytes(self) -> Iterator[int]:
        for folder in self.folders("memory"):
            for name in ("memory.max", "memory.limit_in_bytes"):
                text = _text(folder / name)
                if text.isdigit() and 0 < int(text) < UNLIMITED_V1:
                    yield int(text)

    def memory_used(self) -> Iterator[tuple[int, int]]:
        """Limit and use of each limited group, in bytes; cached file pages can be freed and are not used."""
        for folder in self.folders("memory"):
            for limit, used, prefix in (
                ("memory.max", "memory.current", ""),
                ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
            ):
                most, now = _text(folder / limit), _text(folder / used)
                if most.isdigit() and 0 < int(most) < UNLIMITED_V1 and now.isdigit():
                    freed = ("inactive_file", "active_file", "slab_reclaimable")
                    cached = _statistics(folder / "memory.stat", *(f"{prefix}{name}" for name in freed))
                    yield int(most), max(int(now) - cached, 0)

    def cores(self) -> Iterator[float]:
        for folder in self.folders("cpu"):
            quota, _, period = _text(folder / "cpu.max").partition(" ")
            if not quota:
                quota, period = _text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")
            if quota.isdigit() and period.isdigit() and int(quota) > 0 and int(period) > 0:
                yield int(quota) / int(period)

    def throttled_s(self) -> dict[str, float]:
        """`cpu_throttled_s`, the longest time for which one of the groups was stopped by its quota; absent without a
        quota.
        """
        found = []
        for folder in self.folders("cpu"):
            microseconds = _statistics(folder / "cpu.stat", "throttled_usec")
            nanoseconds = _statistics(folder / "cpu.stat", "throttled_time")
            found.append(microseconds / 1e6 + nanoseconds / 1e9)
        return {"cpu_throttled_s": max(found)} if found and any(self.cores()) else {}

    def tasks(self, own: int) -> Iterator[int]:
        """The number of processes and threads that each limited group leaves to a server that has `own` of them now."""
        for folder in self.folders("pids"):
            most, now = _text(folder / "pids.max"), _text(folder / "pids.current")
            if most.isdigit() and now.isdigit():
                yield max(int(most) - max(int(now) - own, 0), 0)

    def write_iops(self, device: str) -> Iterator[int]:
        """The number of writes per second that each limited group may request from the `device`, by its
        numbers: "8:0".
        """
        for folder in self.folders("blkio"):
            lines = f"{_text(folder / 'io.max')}\n{_text(folder / 'blkio.throttle.write_iops_device')}".splitlines()
            for of, *words in (line.split() for line in lines if line):
                most = next((w.removeprefix("wiops=") for w in words if w.startswith("wiops=") or w.isdigit()), "")
                if of == device and most.isdigit():
                    yield int(most)

    def folders(self, controller: str) -> Iterator[Path]:
        """The group's folder and its ancestors', up to the root: inside a container the root is its own group."""
        for _, controllers, path in (line for line in self._lines if len(line) == 3):
            if controllers and controller not in controllers.split(","):
                continue
            mount = self._root if not controllers else self._root / controller
            folder = mount / path.lstrip("/")
            yield folder
            yield from (p for p in folder.parents if p == mount or mount in p.parents)


def _statistics(file: Path, *names: str) -> int:
    """The sum of the named lines."""
    lines = (line.partition(" ") for line in _text(file).splitlines())
    return sum(int(value) for name, _, value in lines if name in names and value.isdigit())


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
