"""The settings of a Linux host: the kernel's file for each, and the texts that may be written there. No other text is
written.

One is not a setting of the kernel, but of the database server's process, and has no file here.

The catalogue has their meanings and search ranges. These are the wider limits of the kernel, so that every previous
value can be restored.
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from pathlib import Path

WORD = re.compile(r"[a-z+-]{1,16}", re.ASCII)
WHOLE = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
LARGEST = 2**63 - 1
INT = 2**31 - 1
LONGEST_VALUE = 4096
MOST_OF_MEMORY = 0.9
"""Explicit huge pages beyond that share would leave the machine too little memory to run."""
DISK = "data_disk."
ALLOCATOR = "server.allocator"
"""The library from which the database server takes its memory: a drop-in of its systemd unit names it."""
SYSTEM = "system"
"""The allocator of a server without a replacement."""


class Refused(Exception):
    """Nothing was done."""


@dataclass(frozen=True)
class KernelSetting:
    """`file` is relative to the root; for a setting of a disk, to the disk's own folder. `options` are None for a
    number.
    """

    name: str
    file: str
    low: int = 0
    high: int = LARGEST
    options: tuple[str, ...] | None = None

    @property
    def of_disk(self) -> bool:
        return self.name.startswith(DISK)

    @property
    def of_server(self) -> bool:
        return self.name == ALLOCATOR

    def check(self, value: str) -> None:
        """Raises Refused for a text that must not be written."""
        if self.options is not None:
            if value not in self.options:
                raise Refused(f"{self.name}: {value[:40]!r} is not one of {', '.join(self.options)}")
        elif not WHOLE.fullmatch(value) or not self.low <= int(value) <= self.high:
            raise Refused(f"{self.name}: {value[:40]!r} is not a whole number from {self.low} to {self.high}")


def _sysctl(name: str, low: int = 0, high: int = INT, options: tuple[str, ...] | None = None) -> KernelSetting:
    return KernelSetting(name, f"proc/sys/{name.replace('.', '/')}", low, high, options)


def _digits(most: int) -> tuple[str, ...]:
    return tuple(map(str, range(most + 1)))


_PAGES = "sys/kernel/mm/transparent_hugepage"
SETTINGS = {
    s.name: s
    for s in (
        _sysctl("vm.swappiness", high=200),
        _sysctl("vm.dirty_background_bytes", high=LARGEST),
        _sysctl("vm.dirty_bytes", high=LARGEST),
        _sysctl("vm.dirty_expire_centisecs"),
        _sysctl("vm.dirty_writeback_centisecs"),
        _sysctl("vm.overcommit_memory", options=_digits(2)),
        _sysctl("vm.zone_reclaim_mode", options=_digits(7)),
        _sysctl("vm.nr_hugepages"),
        _sysctl("kernel.numa_balancing", options=_digits(3)),
        KernelSetting("transparent_hugepage.enabled", f"{_PAGES}/enabled", options=("always", "madvise", "never")),
        KernelSetting(
            "transparent_hugepage.defrag",
            f"{_PAGES}/defrag",
            options=("always", "defer", "defer+madvise", "madvise", "never"),
        ),
        KernelSetting(f"{DISK}scheduler", "queue/scheduler", options=("none", "mq-deadline", "kyber", "bfq")),
        KernelSetting(f"{DISK}read_ahead_kb", "queue/read_ahead_kb", high=INT),
        KernelSetting(f"{DISK}nr_requests", "queue/nr_requests", low=1, high=INT),
        KernelSetting(f"{DISK}rq_affinity", "queue/rq_affinity", options=_digits(2)),
        _sysctl("net.core.somaxconn", low=1),
        _sysctl("net.ipv4.tcp_max_syn_backlog", low=1),
        KernelSetting(ALLOCATOR, "", options=(SYSTEM, "jemalloc", "tcmalloc")),
    )
}
RATIOS = {
    "vm.dirty_background_bytes": _sysctl("vm.dirty_background_ratio", high=100),
    "vm.dirty_bytes": _sysctl("vm.dirty_ratio", high=100),
}
"""The other form of a limit: the kernel sets one to 0 when the other one is written. Only the helper writes these."""
SCHEDULER = f"{DISK}scheduler"
REQUESTS = SETTINGS[f"{DISK}nr_requests"]
"""Each scheduler has a queue of its own: after a choice, the kernel sets its number of requests again."""


class Kernel:
    """The kernel's files below `root`; `disk` is the folder of the data's block device, if it is known."""

    def __init__(self, root: Path, disk: Path | None = None) -> None:
        self.root = root
        self.disk = disk

    def path(self, setting: KernelSetting) -> Path:
        """Raises Refused for a setting of a disk if there is none, and for a name that is not the kernel's."""
        if setting.of_server:
            raise Refused(f"{setting.name}: the kernel has no such setting")
        if not setting.of_disk:
            return self.root / setting.file
        if self.disk is None:
            raise Refused(f"{setting.name}: the data's disk is not known")
        return self.disk / setting.file

    def read(self, setting: KernelSetting) -> str:
        """The active value. Raises OSError, and Refused for a setting of a disk if there is none."""
        return chosen(self.path(setting).read_bytes()[:LONGEST_VALUE].decode(errors="replace"))

    def options(self, setting: KernelSetting) -> tuple[str, ...]:
        """The values that this kernel offers and that may be written. Raises OSError and Refused."""
        words = self.path(setting).read_text()[:LONGEST_VALUE].replace("[", " ").replace("]", " ").split()
        listed = len(words) > 1
        return tuple(o for o in setting.options or () if o in words or not listed)

    def write(self, setting: KernelSetting, value: str) -> None:
        """Written at once to the kernel's own file, never through a link. Raises Refused and OSError."""
        path = self.path(setting)
        real = path.parent.resolve()
        if not any(real.is_relative_to((self.root / own).resolve()) for own in ("proc/sys", "sys")):
            raise Refused(f"{setting.name}: {real} is not a kernel folder")
        descriptor = os.open(real / path.name, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.write(descriptor, value.encode())
        finally:
            os.close(descriptor)

    def state(self, setting: KernelSetting) -> str:
        """`writable`, `missing` or `read only`, for this account."""
        try:
            path = self.path(setting)
            self.read(setting)
        except (OSError, Refused):
            return "missing"
        return "writable" if os.access(path, os.W_OK) else "read only"


def chosen(text: str) -> str:
    """The word in brackets of `always [madvise] never`; a text without brackets as it is."""
    found = re.search(r"\[([^\]\s]+)\]", text)
    return found[1] if found else text.strip()


def most_huge_pages(root: Path) -> int:
    """The largest share of the memory that explicit huge pages may take, in pages. Raises OSError."""
    total, size = meminfo(root, "MemTotal"), meminfo(root, "Hugepagesize")
    return int(MOST_OF_MEMORY * total / size) if total and size else 0


def meminfo(root: Path, name: str) -> int | None:
    """In kB. Raises OSError."""
    found = re.search(rf"^{name}:\s+(\d+) kB$", (root / "proc/meminfo").read_text(), re.MULTILINE)
    return int(found[1]) if found else None


def why(error: OSError) -> str:
    if error.errno == errno.EINVAL:
        return "this kernel does not take the value"
    return error.strerror or str(error)
