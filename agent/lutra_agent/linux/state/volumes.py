"""The file systems that a server needs: their free space, their mount options, and the reports of their devices."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from lutra_agent.linux.disks import device_of, disk_of
from lutra_agent.linux.facts import mounted
from lutra_agent.linux.state.files import number, present, text

IN_MEMORY = ("tmpfs", "ramfs")
READ_ONLY = ("ro", "emergency_ro", "shutdown")
"""The causes: a mount option, the kernel after an error, or an operator."""
UNSAFE = ("nobarrier", "barrier=0")
LATE_SCHEDULERS = ("[bfq]", "[cfq]")
MOST_LINKS = 100
MOST_FOLDERS = 50
MOST_ENTRIES = 200


class Volumes:
    """The volumes of one server, and the speed at which its data volume fills."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._size, self._least, self._filled = 0, 0, 0

    def counters(self, folder: Path) -> dict[str, float]:
        """`disk_filled_bytes` grows while less is free than ever before; space that is freed again does not count."""
        found = _statistics(folder)
        if found is None:
            return {}
        free = found.f_bavail * found.f_frsize
        if found.f_blocks != self._size:
            self._size, self._least = found.f_blocks, free
        self._filled += max(self._least - free, 0)
        self._least = min(self._least, free)
        return {"disk_filled_bytes": float(self._filled)}

    def gauges(self, folder: Path, pid: int | None) -> dict[str, float]:
        own = _room(folder, "disk")
        return {
            **own,
            **self._linked(folder),
            **self._of_process(pid, folder),
            **self._mount(folder),
            **self._device(folder),
        }

    def _linked(self, folder: Path) -> dict[str, float]:
        """The fullest other file system that a link in the folder, or in a subfolder, leads to.

        The log or a tablespace may lie on a disk of its own.
        """
        home = _device(folder)
        rooms = []
        links = _links(folder)
        if links is None:
            return {}
        for link in links:
            if _device(link) not in (None, home) and (room := _room(link, "linked")):
                rooms.append(room)
        return min(
            rooms, key=lambda room: room["linked_free_bytes"] / max(room["linked_bytes"], 1), default=_none("linked")
        )

    def _of_process(self, pid: int | None, folder: Path) -> dict[str, float]:
        """Of /tmp and /dev/shm as the server sees them; 0 if they are the data's own."""
        seen = self._root if pid is None else self._root / "proc" / str(pid) / "root"
        found: dict[str, float] = {}
        for place, name in (("tmp", "tmp"), ("dev/shm", "shm")):
            known, apart = _device(seen / place), _device(seen / place) != _device(folder)
            found |= {} if known is None else _room(seen / place, name) if apart else _none(name)
        return found

    def _mount(self, folder: Path) -> dict[str, float]:
        found = mounted(self._root, folder)
        if found is None:
            return {}
        kind, options = found
        network = kind.startswith(("nfs", "cifs", "smb"))
        return {
            "disk_in_memory": float(kind in IN_MEMORY),
            "disk_read_only": float(any(o in options for o in READ_ONLY)),
            "disk_unsafe": float(any(o in options for o in UNSAFE)),
            "disk_data_late": float("data=writeback" in options),
            "disk_sync": float("sync" in options or "dirsync" in options),
            "disk_access_times": float(
                "strictatime" in options or (not {"relatime", "noatime"} & options and not network)
            ),
            "disk_gives_up": float(network and bool({"soft", "softerr"} & options)),
        }

    def _device(self, folder: Path) -> dict[str, float]:
        """What the kernel recorded of the file system, and how the disk is driven."""
        device, disk = device_of(self._root, folder), disk_of(self._root, folder)
        if device is None:
            return {}
        name = device.resolve().name
        found = {"disk_errors": number(self._root / "sys/fs/ext4" / name / "errors_count")}
        if disk is not None:
            found["disk_missing_members"] = number(disk / "md/degraded") or 0.0
            found["disk_read_ahead_bytes"] = _kilobytes(disk / "queue/read_ahead_kb")
            found["disk_requests_most"] = number(disk / "queue/nr_requests")
            scheduler = text(disk / "queue/scheduler")
            found["disk_scheduler_fair"] = float(any(s in scheduler for s in LATE_SCHEDULERS)) if scheduler else None
        return present(found)


def _room(folder: Path, name: str) -> dict[str, float]:
    """What an ordinary account may still write. A file system without a count of its files has no end of them."""
    found = _statistics(folder)
    if found is None or not found.f_blocks:
        return {}
    bytes_ = {f"{name}_bytes": found.f_blocks * found.f_frsize, f"{name}_free_bytes": found.f_bavail * found.f_frsize}
    files = {f"{name}_files": found.f_files, f"{name}_free_files": found.f_favail}
    return {n: float(value) for n, value in {**bytes_, **files}.items()}


def _links(folder: Path) -> list[Path] | None:
    """Those of the folder and of its subfolders, up to the limits above; None if the folder cannot be read."""
    own = _entries(folder)
    if own is None:
        return None
    folders = [e.path for e in own if e.is_dir(follow_symlinks=False)][:MOST_FOLDERS]
    every = [*own, *(e for path in folders for e in _entries(Path(path)) or ())]
    return [Path(e.path) for e in every if e.is_symlink()][:MOST_LINKS]


def _entries(folder: Path) -> list[os.DirEntry[str]] | None:
    try:
        with os.scandir(folder) as entries:
            return list(islice(entries, MOST_ENTRIES))
    except OSError:
        return None


def _none(name: str) -> dict[str, float]:
    return dict.fromkeys((f"{name}_bytes", f"{name}_free_bytes", f"{name}_files", f"{name}_free_files"), 0.0)


def _statistics(folder: Path) -> os.statvfs_result | None:
    try:
        return os.statvfs(folder)
    except OSError:
        return None


def _device(folder: Path) -> int | None:
    try:
        return folder.stat().st_dev
    except OSError:
        return None


def _kilobytes(path: Path) -> float | None:
    found = number(path)
    return None if found is None else found * 1024
