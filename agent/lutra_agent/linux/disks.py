"""Block devices: the device of a folder, and names that survive a reboot."""

from __future__ import annotations

import os
import re
from pathlib import Path

LONGEST_ID = 200
STABLE = re.compile(r"[a-z-]+:[A-Za-z0-9_.:+-]{1,200}", re.ASCII)
SOURCES = (
    ("wwid", "wwid"),
    ("wwid", "device/wwid"),
    ("serial", "serial"),
    ("serial", "device/serial"),
    ("dm", "dm/uuid"),
    ("md", "md/uuid"),
)
"""The id that a device reports, by its bus: NVMe, SCSI, virtio, NVMe again, and the kernel's own composed ones."""


def disk_of(root: Path, folder: Path) -> Path | None:
    """The folder in /sys of the disk that holds `folder`; a partition's queue is its disk's."""
    device = device_of(root, folder)
    if device is None:
        return None
    real = device.resolve()
    return next((found for found in (real, real.parent) if (found / "queue").is_dir()), None)


def device_of(root: Path, folder: Path) -> Path | None:
    """The block device of the file system that holds `folder`: a disk or a partition; None for one without."""
    try:
        number = folder.stat().st_dev
    except OSError:
        return None
    device = root / "sys/dev/block" / f"{os.major(number)}:{os.minor(number)}"
    return device if device.exists() else None


def stable_id(disk: Path) -> str | None:
    """`serial:S3X9…`, which the device keeps under whichever name the kernel finds it; None if it has none."""
    for kind, file in SOURCES:
        try:
            text = (disk / file).read_bytes()[:LONGEST_ID].decode(errors="replace").strip()
        except OSError:
            continue
        if text:
            return f"{kind}:{re.sub(r'[^A-Za-z0-9_.:+-]+', '_', text)}"
    return None


def with_id(root: Path, wanted: str) -> Path | None:
    """The one disk of this id; None if there is none, or more than one."""
    try:
        disks = [found.resolve() for found in (root / "sys/block").iterdir()]
    except OSError:
        return None
    found = [disk for disk in disks if stable_id(disk) == wanted and (disk / "queue").is_dir()]
    return found[0] if len(found) == 1 else None
