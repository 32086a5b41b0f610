"""A directory tree that stands for a kernel's /proc/sys and /sys, and behaves as one where settings hang together.

Beside it are the files of a system that systemd runs, with one database server in a unit of it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from lutra_agent.errors import ApplyRefused
from lutra_agent.linux import allocators, requests, units
from lutra_agent.linux.client import as_document
from lutra_agent.linux.helper import carry_out
from lutra_agent.linux.kernel import ALLOCATOR, RATIOS, REQUESTS, SCHEDULER, SETTINGS, Kernel, KernelSetting
from lutra_agent.linux.places import Places
from lutra_agent.linux.requests import Request
from lutra_agent.linux.source import LinuxHost
from lutra_models.errors import ApplyCode

SERIAL = "serial:FAKE_1"
DISK = "sys/devices/pci0000:00/virtio1/block/vda"
INITIAL = {
    "proc/meminfo": "MemTotal:        8388608 kB\nHugepagesize:       2048 kB\n",
    "proc/sys/vm/swappiness": "60",
    "proc/sys/vm/dirty_background_bytes": "0",
    "proc/sys/vm/dirty_background_ratio": "10",
    "proc/sys/vm/dirty_bytes": "0",
    "proc/sys/vm/dirty_ratio": "20",
    "proc/sys/vm/dirty_expire_centisecs": "3000",
    "proc/sys/vm/dirty_writeback_centisecs": "500",
    "proc/sys/vm/overcommit_memory": "0",
    "proc/sys/vm/zone_reclaim_mode": "0",
    "proc/sys/vm/nr_hugepages": "0",
    "proc/sys/kernel/numa_balancing": "0",
    "proc/sys/kernel/core_pattern": "core",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never",
    f"{DISK}/serial": "FAKE 1",
    f"{DISK}/queue/scheduler": "none [mq-deadline] kyber bfq",
    f"{DISK}/queue/read_ahead_kb": "128",
    f"{DISK}/queue/nr_requests": "250",
    f"{DISK}/queue/rq_affinity": "1",
    f"{DISK}/queue/rotational": "0",
    "proc/sys/net/core/somaxconn": "4096",
    "proc/sys/net/ipv4/tcp_max_syn_backlog": "512",
}
UNIT = "served@1-main.service"
TEMPLATE = "usr/lib/systemd/system/served@.service"
LIBRARIES = {
    "jemalloc": "usr/lib64/libjemalloc.so.2",
    "tcmalloc": "usr/lib64/libtcmalloc_minimal.so.4",
}
SYSTEM = {
    "run/systemd/system/.there": "",
    "etc/systemd/system/.there": "",
    "etc/lutra/unit": f"{UNIT}\n",
    TEMPLATE: "[Service]\nExecStart=/usr/bin/served\n",
    LIBRARIES["jemalloc"]: "ELF",
    f"{LIBRARIES['tcmalloc']}.5.9": "ELF",
}
FIRST_PROCESS = 100
SYSTEMCTL = f"""#!/bin/sh
folder=$(dirname "$0")
echo "$*" >> "$folder/asked_of_systemd"
env >> "$folder/environment_of_systemctl"
test ! -e "$folder/systemd_refuses" || {{ echo "Access denied" >&2; exit 1; }}
cat "$folder/etc/systemd/system/{UNIT}.d/90-lutra.conf" > "$folder/known_to_systemd" 2>/dev/null || :
"""
"""systemd knows a drop-in once it was asked to read its files again."""
NEW = {
    "vm.swappiness": 10,
    "vm.dirty_background_bytes": 64 << 20,
    "vm.dirty_bytes": 512 << 20,
    "vm.dirty_expire_centisecs": 500,
    "vm.dirty_writeback_centisecs": 100,
    "vm.overcommit_memory": "1",
    "vm.zone_reclaim_mode": "1",
    "vm.nr_hugepages": 4,
    "kernel.numa_balancing": "1",
    "transparent_hugepage.enabled": "never",
    "transparent_hugepage.defrag": "defer",
    "data_disk.nr_requests": 64,
    "data_disk.scheduler": "none",
    "data_disk.read_ahead_kb": 256,
    "data_disk.rq_affinity": "2",
    "net.core.somaxconn": 8192,
    "net.ipv4.tcp_max_syn_backlog": 1024,
}
"""A new value for every setting of the kernel. The queue's length comes before its scheduler: the source puts them in
order.
"""
ALL = {**NEW, ALLOCATOR: "jemalloc"}
OWN_REQUESTS = {"none": "128"}
SCHEDULERS_REQUESTS = "256"


class _LinuxHost(LinuxHost):
    machine: FakeLinux

    def server_started(self) -> None:
        """What the server in memory tells of its start: systemd has started it."""
        self.machine.start_server()


@dataclass
class FakeLinux:
    """Its helper runs in this process, and is asked as the program would be.

    `linked` is a library that the server's program has loaded by itself.
    """

    folder: Path
    asked: list[Request] = field(default_factory=list)
    process: int = FIRST_PROCESS
    linked: str | None = None

    def __post_init__(self) -> None:
        for name, text in INITIAL.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        number = self.folder.stat().st_dev
        for link in (f"sys/dev/block/{os.major(number)}:{os.minor(number)}", "sys/block/vda"):
            (self.root / link).parent.mkdir(parents=True, exist_ok=True)
            (self.root / link).symlink_to(self.root / DISK)
        self._make_system()
        self.start_server()

    def _make_system(self) -> None:
        """What root alone can write here is what this account alone can write."""
        for name, text in SYSTEM.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o644)
        (self.folder / LIBRARIES["tcmalloc"]).symlink_to("libtcmalloc_minimal.so.4.5.9")
        for part in (self.folder, *(p for p in self.folder.rglob("*") if p.is_dir() and not p.is_symlink())):
            part.chmod(0o755)
        self.places.systemctl.write_text(SYSTEMCTL)
        self.places.systemctl.chmod(0o755)

    def start_server(self, unit: str = f"system.slice/system-served.slice/{UNIT}") -> None:
        """As another process, with the library that systemd knows of."""
        known = self.folder / "known_to_systemd"
        preloaded = re.findall(r"LD_PRELOAD=(\S+)", known.read_text()) if known.exists() else []
        mapped = [*preloaded, *filter(None, (self.linked,)), "/usr/lib64/libc.so.6"]
        self.process += 1
        files = {
            "1/cgroup": "1:name=systemd:/init.scope\n0::/init.scope\n",
            f"{self.process}/cgroup": f"7:memory:/\n1:name=systemd:/{unit}\n",
            f"{self.process}/maps": "".join(f"7f00-7f01 r-xp 0 8:1 9 {path}\n" for path in mapped),
        }
        shutil.rmtree(self.root / f"proc/{self.process - 1}", ignore_errors=True)
        for name, text in files.items():
            (self.root / "proc" / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / "proc" / name).write_text(text)

    @property
    def allocator(self) -> str | None:
        """What the server's process has."""
        return allocators.loaded(self.root, self.process)

    @property
    def asked_of_systemd(self) -> list[str]:
        said = self.folder / "asked_of_systemd"
        return said.read_text().splitlines() if said.exists() else []

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def places(self) -> Places:
        etc = self.folder / "etc"
        return Places(
            self.root,
            etc / "sysctl.d/90-lutra.conf",
            etc / "lutra/host.conf",
            self.folder / "memory",
            self.folder,
            self.folder / "systemctl",
            os.geteuid(),
        )

    @property
    def source(self) -> LinuxHost:
        made = _LinuxHost(self, lambda: self.folder, lambda: self.process, self.places)
        made.machine = self
        return made

    def ask(self, steps: Sequence[Request]) -> Mapping[str, str]:
        self.asked += steps
        document = json.dumps({"steps": [as_document(s) for s in steps]}).encode()
        answer = carry_out(requests.parse(document), self.places)
        if answer.error:
            raise ApplyRefused(ApplyCode.INVALID_VALUE, answer.error)
        return answer.settings or {}

    def kernel(self) -> dict[str, str]:
        """Every file of the kernel, as it is, but for those of processes."""
        files = {str(p.relative_to(self.root)): p for p in self.root.rglob("*") if p.is_file()}
        return {name: p.read_text() for name, p in files.items() if not re.match(r"proc/\d", name)}

    def lasting(self) -> dict[str, bytes]:
        """Every file of Lutra's, and of others, beside the kernel's."""
        etc = self.folder / "etc"
        return {str(p.relative_to(etc)): p.read_bytes() for p in etc.rglob("*") if p.is_file()}

    def reboot(self) -> None:
        """The kernel begins as it began; then sysctl's own unit and Lutra's apply what lasts."""
        for name, text in INITIAL.items():
            (self.root / name).write_text(f"{text}\n")
        if self.places.sysctls.exists():
            for line in self.places.sysctls.read_text().splitlines():
                name, equals, value = line.partition(" = ")
                if equals:
                    Kernel(self.root).write(SETTINGS[name], value)
        if self.places.devices.exists():
            self.ask([Request("boot")])
        units.reload(self.places)
        self.start_server()


@contextmanager
def kernel_behaves(before: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Writes do what they do on Linux; `before` is called before each."""
    real = Kernel.write

    def write(kernel: Kernel, setting: KernelSetting, value: str) -> None:
        before()
        _require_taken(kernel, setting, value)
        words = kernel.path(setting).read_text().replace("[", " ").replace("]", " ").split()
        bracketed = setting.options is not None and len(words) > 1
        real(kernel, setting, " ".join(f"[{w}]" if w == value else w for w in words) if bracketed else value)
        for bytes_, ratio in RATIOS.items():
            for one, other in ((SETTINGS[bytes_], ratio), (ratio, SETTINGS[bytes_])):
                if setting == one:
                    real(kernel, other, "0")
        if setting.name == SCHEDULER:
            real(kernel, REQUESTS, OWN_REQUESTS.get(value, SCHEDULERS_REQUESTS))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Kernel, "write", write)
        yield


def _require_taken(kernel: Kernel, setting: KernelSetting, value: str) -> None:
    hardware = kernel.disk is not None and kernel.read(SETTINGS[SCHEDULER]) == "none"
    if setting == REQUESTS and hardware and int(value) > int(OWN_REQUESTS["none"]):
        raise OSError(22, "Invalid argument")
    if setting.name in RATIOS and int(value) < 8192:
        raise OSError(22, "Invalid argument")
