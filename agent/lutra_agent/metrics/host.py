"""What the database may use of this host: container and cgroup limits where they are narrower than the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
from lutra_models.server import Host

from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.linux import allocators, facts, pressure
from lutra_agent.linux.disks import device_of
from lutra_agent.metrics.taken import ServerProcesses

UNLIMITED_V1 = 1 << 60
SECTOR_BYTES = 512


class HostProbe:
    """Facts and counters of the host, as the process `pid` is limited (None: the agent's own limits).

    `programs` are what a server's process is called. A `pid` of another name is not the server's, but a number from
    another container, and counts as None; without any, every `pid` is believed. `data_dir` names the disk. What the
    host does not show is absent.
    """

    def __init__(self, root: Path = Path("/"), programs: tuple[str, ...] = ()) -> None:
        self._programs = programs
        self._root = root
        self._proc = root / "proc"
        self._sys = root / "sys"
        self._server = ServerProcesses(root)

    def facts(self, pid: int | None = None, data_dir: Path | None = None) -> Host:
        pid = self._servers(pid)
        limits = self._limits(pid)
        cores = _affinity(pid) or psutil.cpu_count() or 1
        return Host(
            memory_bytes=min([psutil.virtual_memory().total, *limits.memory_bytes()]),
            cores=min([float(cores), *limits.cores()]),
            disk_bytes=_disk_bytes(data_dir),
            rotational=facts.rotational(self._root, data_dir or Path("/")),
            kernel=facts.kernel_version(self._root),
            allocator=allocators.loaded(self._root, pid),
            file_system=facts.file_system(self._root, data_dir or Path("/")),
            device=facts.device(self._root, data_dir or Path("/")),
            memory_pages=facts.memory_pages(self._root),
            machine=facts.machine(self._root),
        )

    def reading(self, data_dir: Path | None = None, pid: int | None = None) -> Reading:
        """Load and free memory as gauges; processor times and the data disk's requests and bytes as counters.

        Among them is the time that the server `pid` had, that the hypervisor's other guests took, and for which a quota
        stopped it; what is swapped, waits to be written, and waits for a processor, a disk or memory.
        """
        pid = self._servers(pid)
        gauges = {"load1": os.getloadavg()[0], "memory_available_bytes": float(psutil.virtual_memory().available)}
        gauges |= {"processors": float(psutil.cpu_count() or 1), **pressure.gauges(self._root)}
        times = psutil.cpu_times()
        counters = {"cpu_user_s": times.user, "cpu_system_s": times.system}
        counters["cpu_iowait_s"] = getattr(times, "iowait", 0.0)
        counters["cpu_steal_s"] = getattr(times, "steal", 0.0)
        throttled = self._limits(pid).throttled_s()
        pressed = {**pressure.counters(self._root), **self._server.counters(pid)}
        return Reading({**counters, **pressed, **throttled, **self._disk(data_dir)}, gauges)

    def room(self, pid: int | None, data_dir: Path | None) -> dict[str, float]:
        """The share of the memory that the process may use which is free or can be freed, and the disk's free bytes."""
        memory = psutil.virtual_memory()
        shares = [memory.available / memory.total]
        limits = self._limits(self._servers(pid))
        shares += [max(limit - used, 0.0) / limit for limit, used in limits.memory_used()]
        found = {"memory_free_share": min(shares)}
        free = None if data_dir is None else _disk_free(data_dir)
        return found if free is None else {**found, "disk_free_bytes": free}

    def _servers(self, pid: int | None) -> int | None:
        """The process, where it is the server's. A loader may stand before the program in its arguments."""
        if pid is None or not self._programs:
            return pid
        arguments = _text(self._proc / str(pid) / "cmdline").split("\0")
        return pid if any(Path(a).name in self._programs for a in arguments) else None

    def _limits(self, pid: int | None) -> Cgroups:
        return Cgroups(self._sys / "fs/cgroup", self._proc / str(pid or "self") / "cgroup")

    def _disk(self, data_dir: Path | None) -> dict[str, float]:
        device = device_of(self._root, data_dir or Path("/"))
        if device is None:
            return {}
        try:
            fields = [int(f) for f in (device / "stat").read_text().split()]
        except (OSError, ValueError):
            return {}
        return {
            "disk_reads": fields[0],
            "disk_read_bytes": fields[2] * SECTOR_BYTES,
            "disk_writes": fields[4],
            "disk_write_bytes": fields[6] * SECTOR_BYTES,
            "disk_busy_ms": fields[9],
        }


class Cgroups:
    """The limits of one process's control groups, version 1 and 2; a group is bound by its ancestors as well."""

    def __init__(self, root: Path, membership: Path) -> None:
        self._root = root
        try:
            self._lines = [line.split(":", 2) for line in membership.read_text().splitlines()]
        except OSError:
            self._lines = []

    def memory_bytes(self) -> Iterator[int]:
        for folder in self._folders("memory"):
            for name in ("memory.max", "memory.limit_in_bytes"):
                text = _text(folder / name)
                if text.isdigit() and 0 < int(text) < UNLIMITED_V1:
                    yield int(text)

    def memory_used(self) -> Iterator[tuple[int, int]]:
        """Limit and use of each limited group, in bytes; cached file pages can be freed and are not used."""
        for folder in self._folders("memory"):
            for limit, used, prefix in (
                ("memory.max", "memory.current", ""),
                ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
            ):
                most, now = _text(folder / limit), _text(folder / used)
                if most.isdigit() and 0 < int(most) < UNLIMITED_V1 and now.isdigit():
                    cached = _statistics(folder / "memory.stat", f"{prefix}inactive_file", f"{prefix}active_file")
                    yield int(most), max(int(now) - cached, 0)

    def cores(self) -> Iterator[float]:
        for folder in self._folders("cpu"):
            quota, _, period = _text(folder / "cpu.max").partition(" ")
            if not quota:
                quota, period = _text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")
            if quota.isdigit() and period.isdigit() and int(quota) > 0 and int(period) > 0:
                yield int(quota) / int(period)

    def throttled_s(self) -> dict[str, float]:
        """`cpu_throttled_s`, the most for which one of the groups was stopped by its quota; nothing without a quota."""
        found = []
        for folder in self._folders("cpu"):
            microseconds = _statistics(folder / "cpu.stat", "throttled_usec")
            nanoseconds = _statistics(folder / "cpu.stat", "throttled_time")
            found.append(microseconds / 1e6 + nanoseconds / 1e9)
        return {"cpu_throttled_s": max(found)} if found and any(self.cores()) else {}

    def _folders(self, controller: str) -> Iterator[Path]:
        """The group's folder and its ancestors', up to the root: inside a container the root is its own group."""
        for _, controllers, path in (line for line in self._lines if len(line) == 3):
            if controllers and controller not in controllers.split(","):
                continue
            mount = self._root if not controllers else self._root / controller
            folder = mount / path.lstrip("/")
            yield folder
            yield from (p for p in folder.parents if p == mount or mount in p.parents)


def request_sizes(metrics: dict[str, float]) -> dict[str, float]:
    """Mean bytes of a disk request over a window, from its rates."""
    sizes = {}
    for kind in ("read", "write"):
        requests = metrics.get(f"host.disk_{kind}s_per_s", 0.0)
        if requests > 0:
            sizes[f"host.disk_{kind}_request_bytes"] = metrics[f"host.disk_{kind}_bytes_per_s"] / requests
    return sizes


def _affinity(pid: int | None) -> int:
    try:
        return len(os.sched_getaffinity(pid or 0))
    except (OSError, AttributeError):
        return 0


def _disk_bytes(data_dir: Path | None) -> int | None:
    """The file system's size; less where it fills, so that a tenth is half of what is free at most, in coarse steps."""
    try:
        disk = psutil.disk_usage(str(data_dir or "/"))
    except OSError:
        return None
    return min(disk.total, 1 << max(5 * disk.free, 1).bit_length() - 1)


def _disk_free(data_dir: Path) -> float | None:
    """What an ordinary account may still write."""
    try:
        return float(psutil.disk_usage(str(data_dir)).free)
    except OSError:
        return None


def _statistics(file: Path, *names: str) -> int:
    """The sum of the named lines."""
    lines = (line.partition(" ") for line in _text(file).splitlines())
    return sum(int(value) for name, _, value in lines if name in names and value.isdigit())


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
