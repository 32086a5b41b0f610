"""The distance of a server's control groups from their limits, and their losses to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from lutra_agent.linux.pressure import some
from lutra_agent.linux.state.files import named, number, present, text
from lutra_agent.metrics.cgroups import Cgroups
from lutra_agent.metrics.server_bounds import counted

WAITS = {"cpu": "group_cpu_waiting_s", "io": "group_io_waiting_s", "memory": "group_memory_waiting_s"}
LIMITS_V1 = {
    "read_iops_device": "disk_reads_most",
    "write_iops_device": "disk_writes_most",
    "read_bps_device": "disk_read_bytes_most",
    "write_bps_device": "disk_write_bytes_most",
}
LIMITS_V2 = {
    "riops": "disk_reads_most",
    "wiops": "disk_writes_most",
    "rbps": "disk_read_bytes_most",
    "wbps": "disk_write_bytes_most",
}
USED_V1 = {
    "blkio.throttle.io_serviced": {"Read": "group_disk_reads", "Write": "group_disk_writes"},
    "blkio.throttle.io_service_bytes": {"Read": "group_disk_read_bytes", "Write": "group_disk_write_bytes"},
}
USED_V2 = {
    "rios": "group_disk_reads",
    "wios": "group_disk_writes",
    "rbytes": "group_disk_read_bytes",
    "wbytes": "group_disk_write_bytes",
}


def gauges(groups: Cgroups, device: str | None) -> dict[str, float]:
    """For the group that is nearest to its limit: the limit, and the part in use that cannot be freed. A limit of 0
    means none.
    """
    found: dict[str, float] = {}
    for controller, pairs, name in (("memory", groups.memory_used(), "memory"), ("pids", _tasks(groups), "tasks")):
        if next(groups.folders(controller), None) is not None:
            most, used = max(pairs, key=lambda pair: pair[1] / pair[0], default=(0, 0))
            unit = "_bytes" if name == "memory" else ""
            found |= {f"group_{name}_most{unit}": float(most), f"group_{name}{unit}": float(used)}
    processors = [n for folder in groups.folders("cpuset") if (n := _processors(folder)) is not None]
    found |= {"group_processors": min(processors)} if processors else {}
    killed = max((_killed(folder) for folder in groups.folders("memory")), default=0.0)
    return {**found, **_disk_limits(groups, device), "group_oom_kills_since_start": killed}


def counters(groups: Cgroups, device: str | None) -> dict[str, float]:
    """Waits of the group's members, the number of times that it was throttled at its soft limit, and its requests to
    the data's disk.
    """
    folder = next(groups.folders("memory"), None)
    if folder is None:
        return _disk_use(groups, device)
    waits = {name: some(folder / f"{kind}.pressure") for kind, name in WAITS.items()}
    held = named(folder / "memory.events", ("high",))
    return {**present({**waits, "group_held_back": held.get("high")}), **_disk_use(groups, device)}


def _tasks(groups: Cgroups) -> Iterator[tuple[float, float]]:
    for folder in groups.folders("pids"):
        most, now = number(folder / "pids.max"), number(folder / "pids.current")
        if most and now is not None:
            yield most, now


def _processors(folder: Path) -> float | None:
    found = (text(folder / name) for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"))
    return next((n for ranges in found if ranges and (n := counted(ranges)) is not None), None)


def _killed(folder: Path) -> float:
    """Of the group itself and those below it. A group of version 1 says it beside its switch."""
    new = named(folder / "memory.events", ("oom_kill",))
    old = named(folder / "memory.oom_control", ("oom_kill",))
    return {**old, **new}.get("oom_kill", 0.0)


def _disk_limits(groups: Cgroups, device: str | None) -> Mapping[str, float]:
    """What a second may have of the data's disk, by its numbers: "8:0"."""
    if device is None:
        return {}
    found: dict[str, float] = {}
    for folder in groups.folders("blkio"):
        lines = [
            (name, line.split())
            for file, name in LIMITS_V1.items()
            for line in _lines(folder / f"blkio.throttle.{file}")
        ]
        pairs = [(name, words[1]) for name, words in lines if len(words) == 2 and words[0] == device]
        for line in _lines(folder / "io.max"):
            of, *words = line.split()
            split = [word.partition("=") for word in words if of == device]
            pairs += [(LIMITS_V2[key], value) for key, _, value in split if key in LIMITS_V2]
        for name, value in pairs:
            if value.isdecimal() and int(value) > 0:
                found[name] = min(float(value), found.get(name, float(value)))
    return {name: found.get(name, 0.0) for name in LIMITS_V1.values()}


def _disk_use(groups: Cgroups, device: str | None) -> dict[str, float]:
    """Of the server's own group: what its parents had is others' as well."""
    folder = None if device is None else next(groups.folders("blkio"), None)
    if folder is None:
        return {}
    found: dict[str, float] = {}
    for file, names in USED_V1.items():
        for of, kind, *value in (line.split() for line in _lines(folder / file) if len(line.split()) == 3):
            if of == device and kind in names and value[0].isdecimal():
                found[names[kind]] = float(value[0])
    for line in _lines(folder / "io.stat"):
        of, *words = line.split()
        pairs = [word.partition("=") for word in words if of == device]
        found |= {USED_V2[key]: float(value) for key, _, value in pairs if key in USED_V2 and value.isdecimal()}
    return found


def _lines(path: Path) -> list[str]:
    return [line for line in text(path).splitlines() if line]
