"""The database's share of this host: container and cgroup limits if they are narrower than the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
from lutra_models.server import Host

from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.linux import allocators, facts, pressure
from lutra_agent.linux.disks import device_of, disk_of
from lutra_agent.linux.state import machine, memory, network
from lutra_agent.linux.state.volumes import Volumes
from lutra_agent.metrics import group_state
from lutra_agent.metrics.cgroups import Cgroups
from lutra_agent.metrics.server_bounds import ServerBounds
from lutra_agent.metrics.taken import BYTES, ServerProcesses

MAY_RAISE_LIMITS = 1 << 24
"""CAP_SYS_RESOURCE: such a process raises its own limits when it needs to."""
MOST_CHILDREN = 100_000

SECTOR_BYTES = 512
DISK = {
    "disk_reads": 0,
    "disk_read_ms": 3,
    "disk_writes": 4,
    "disk_write_ms": 7,
    "disk_busy_ms": 9,
    "disk_queue_ms": 10,
}
"""The position of each in a device's `stat`."""
DISK_SECTORS = {"disk_read_bytes": 2, "disk_write_bytes": 6}
FLUSHES = ("disk_flushes", "disk_flush_ms")


class HostProbe:
    """Facts and counters of the host, as the process `pid` is limited (None: the agent's own limits).

    `programs` are the names of a server's process. A `pid` of another name is not the server's, but a number from
    another container, and counts as None; without names, every `pid` is accepted. `data_dir` names the disk, and
    without it no disk is the server's. Facts that the host does not show are absent.
    """

    def __init__(self, root: Path = Path("/"), programs: tuple[str, ...] = ()) -> None:
        self._programs = programs
        self._root = root
        self._proc = root / "proc"
        self._sys = root / "sys"
        self._server = ServerProcesses(root)
        self._bounds = ServerBounds(self._proc)
        self._volumes = Volumes(root)

    def facts(self, pid: int | None = None, data_dir: Path | None = None) -> Host:
        pid = self._servers(pid)
        limits = self._limits(pid)
        cores = _affinity(pid) or psutil.cpu_count() or 1
        total, available = self._memory()
        host = Host(
            memory_bytes=min([total, *limits.memory_bytes()]),
            cores=min([float(cores), *limits.cores()]),
            disk_bytes=_disk_bytes(data_dir),
            rotational=None if data_dir is None else facts.rotational(self._root, data_dir),
            kernel=facts.kernel_version(self._root),
            allocator=allocators.loaded(self._root, pid),
            file_system=None if data_dir is None else facts.file_system(self._root, data_dir),
            device=None if data_dir is None else facts.device(self._root, data_dir),
            memory_pages=facts.memory_pages(self._root),
            machine=facts.machine(self._root),
        )
        return host if pid is None else self._bounded(host, ServerProcess(self._proc, pid), limits, available, data_dir)

    def _bounded(
        self, host: Host, server: ServerProcess, limits: Cgroups, available: int | None, data_dir: Path | None
    ) -> Host:
        """With what the server's process holds, and what bounds it besides."""
        held, device = server.held(), _number(disk_of(self._root, data_dir or Path("/")))
        others = None
        if available is not None and held is not None:
            # A group is charged with what its members hold since they joined it, and never with huge pages.
            left = [most - used + min(held.pages, used) for most, used in limits.memory_used()]
            others = max(0, host.memory_bytes - min([available + held.pages + held.huge, *left]))
        return replace(
            host,
            others_bytes=others,
            resident_bytes=None if held is None else held.pages + held.huge,
            shm_bytes=server.shm_bytes(),
            open_files=server.open_files(),
            tasks=min(limits.tasks(held.tasks if held else 0), default=None),
            write_iops=None if device is None else min(limits.write_iops(device), default=None),
        )

    def _memory(self) -> tuple[int, int | None]:
        """All of it, and what processes may still have of it: free, or freed for them. None if that is not told."""
        lines = (line.split() for line in _text(self._proc / "meminfo").splitlines())
        values = {w[0]: int(w[1]) * 1024 for w in lines if len(w) > 1 and w[1].isdigit()}
        return values.get("MemTotal:") or psutil.virtual_memory().total, values.get("MemAvailable:")

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
        own = {name: n for name, n in self._server.counters(pid).items() if data_dir is not None or name != BYTES}
        pressed = {**pressure.counters(self._root), **own}
        more_counters, more_gauges = self._state(pid, data_dir)
        return Reading(
            {**counters, **pressed, **throttled, **self._disk(data_dir), **more_counters}, {**gauges, **more_gauges}
        )

    def _state(self, pid: int | None, data_dir: Path | None) -> tuple[dict[str, float], dict[str, float]]:
        """How the machine is set up for a server, and what is left of all that has an end."""
        root, groups = self._root, self._limits(pid)
        held = memory.gauges(root)
        swap = held.get("swap_bytes", 0.0) > held.get("swap_free_bytes", 0.0)
        device = None if data_dir is None else _number(disk_of(root, data_dir))
        counters = {**memory.counters(root), **network.counters(root, pid), **group_state.counters(groups, device)}
        gauges = {**held, **machine.gauges(root), **network.gauges(root, pid)}
        gauges |= {**group_state.gauges(groups, device), **self._bounds.gauges(pid, swap=swap)}
        if data_dir is not None:
            counters |= self._volumes.counters(data_dir)
            gauges |= self._volumes.gauges(data_dir, pid)
        return counters, gauges

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
        device = None if data_dir is None else device_of(self._root, data_dir)
        if device is None:
            return {}
        try:
            fields = [int(f) for f in (device / "stat").read_text().split()]
        except (OSError, ValueError):
            return {}
        named = {name: float(fields[place]) for name, place in DISK.items() if place < len(fields)}
        sectors = {name: float(fields[place] * SECTOR_BYTES) for name, place in DISK_SECTORS.items()}
        return {**named, **sectors, **self._flushes(data_dir)}

    def _flushes(self, data_dir: Path | None) -> dict[str, float]:
        """The kernel counts those of a whole disk alone."""
        disk = None if data_dir is None else disk_of(self._root, data_dir)
        fields = [] if disk is None else _text(disk / "stat").split()
        values = fields[15:17]
        return (
            dict(zip(FLUSHES, map(float, values), strict=True))
            if len(values) == 2 and "".join(values).isdigit()
            else {}
        )


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
    if data_dir is None:
        return None
    try:
        disk = psutil.disk_usage(str(data_dir))
    except OSError:
        return None
    return min(disk.total, 1 << max(5 * disk.free, 1).bit_length() - 1)


def _disk_free(data_dir: Path) -> float | None:
    """What an ordinary account may still write."""
    try:
        return float(psutil.disk_usage(str(data_dir)).free)
    except OSError:
        return None


def _number(disk: Path | None) -> str | None:
    """As in "8:0"."""
    return None if disk is None else _text(disk / "dev") or None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


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
