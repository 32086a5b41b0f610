"""The kind of this machine: kernel, file system, device, huge pages. Read only from files.

Facts that the host does not show, or not to this account, are None.
"""

from __future__ import annotations

import re
from pathlib import Path

from lutra_models.server import LONGEST_FACT

from lutra_agent.linux.disks import disk_of
from lutra_agent.linux.kernel import SETTINGS, Kernel, Refused

NETWORK_DISKS = ("Amazon Elastic Block Store", "PersistentDisk", "nvme_card-pd", "Virtual Disk")
"""The names of network disks in the clouds of EC2, Google and Azure."""


def kernel_version(root: Path) -> str | None:
    """`6.18`: a kernel's behaviour depends on these two numbers."""
    found = re.match(r"\d+\.\d+", _text(root / "proc/sys/kernel/osrelease"))
    return found[0] if found else None


def file_system(root: Path, folder: Path) -> str | None:
    """`ext4`: of the innermost mount that holds `folder`."""
    found = mounted(root, folder)
    return None if found is None else found[0]


def mounted(root: Path, folder: Path) -> tuple[str, frozenset[str]] | None:
    """The file system of the innermost mount that holds `folder`, with the options of both."""
    found: dict[Path, tuple[str, frozenset[str]]] = {}
    for line in _text(root / "proc/self/mountinfo").splitlines():
        mount, _, rest = line.partition(" - ")
        fields, beneath = mount.split(), rest.split()
        if len(fields) > 5 and beneath:
            options = {*fields[5].split(","), *(beneath[2].split(",") if len(beneath) > 2 else ())}
            found[Path(_unescaped(fields[4]))] = beneath[0], frozenset(options)
    real = folder.resolve()
    holding = [mount for mount in found if real.is_relative_to(mount)]
    return found[max(holding, key=lambda mount: len(mount.parts))] if holding else None


def device(root: Path, folder: Path) -> str | None:
    """`spinning`, `network`, `nvme`, `virtual`, `composed` or `solid`: the kind of the disk that holds `folder`."""
    disk = disk_of(root, folder)
    if disk is None:
        return None
    model = _text(disk / "device/model")
    if any(known in model for known in NETWORK_DISKS):
        return "network"
    by_name = {"nvme": "nvme", "vd": "virtual", "xvd": "virtual", "dm-": "composed", "md": "composed"}
    kind = next((kind for prefix, kind in by_name.items() if re.match(rf"{prefix}[a-z0-9]", disk.name)), None)
    if kind is not None:
        return kind
    return {True: "spinning", False: "solid", None: None}[rotational(root, folder)]


def rotational(root: Path, folder: Path) -> bool | None:
    """Whether the disk spins. None for a hypervisor's disk whose driver does not know the device beneath."""
    disk = disk_of(root, folder)
    said = "" if disk is None else _text(disk / "queue/rotational")
    if disk is None or not said or (said == "1" and _virtual(root, disk)):
        return None
    return said == "1"


def memory_pages(root: Path) -> str | None:
    """`always`, `madvise` or `never`: the use of transparent ones; with `+explicit` if there are reserved ones."""
    kernel = Kernel(root)
    try:
        transparent = kernel.read(SETTINGS["transparent_hugepage.enabled"])
        reserved = kernel.read(SETTINGS["vm.nr_hugepages"])
    except (OSError, Refused):
        return None
    return transparent if reserved == "0" else f"{transparent}+explicit"


def machine(root: Path) -> str | None:
    """The maker's and the product's name by the firmware: in some clouds the instance type, `Amazon EC2 m7i.large`."""
    words = [_text(root / "sys/class/dmi/id" / name) for name in ("sys_vendor", "product_name")]
    said = " ".join(w for w in words if w)
    return said[:LONGEST_FACT] or None


def _virtual(root: Path, disk: Path) -> bool:
    return "virtio" in str(disk.resolve()) or "hypervisor" in _text(root / "proc/cpuinfo").split()


def _unescaped(path: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), path)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace").strip()
    except OSError:
        return ""
