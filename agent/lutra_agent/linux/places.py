"""The files that the helper reads and writes. A test passes other folders; the installed program uses only these."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lutra_agent.files.accounts import ROOT
from lutra_agent.linux.kernel import KernelSetting

SYSCTLS = Path("/etc/sysctl.d/90-lutra.conf")
DEVICES = Path("/etc/lutra/host.conf")


@dataclass(frozen=True)
class Places:
    """`root` has the kernel's `proc` and `sys`. Two files make values last; `memory` is the helper's own folder.

    `system` is the root of the files by which others set the same: those of sysctl.d, TuneD and systemd. Below it are
    also the unit whose server may get another allocator, its drop-in, and the allocators' libraries. These are trusted
    if only the account `owner` can write them. `systemctl` is the program.
    """

    root: Path = Path("/")
    sysctls: Path = SYSCTLS
    devices: Path = DEVICES
    memory: Path = Path("/var/lib/lutra-host")
    system: Path = Path("/")
    systemctl: Path = Path("/usr/bin/systemctl")
    owner: int = ROOT

    def lasting(self, setting: KernelSetting) -> Path:
        return self.sysctls if setting.file.startswith("proc/sys/") else self.devices

    @property
    def unit(self) -> Path:
        """The file in which the administrator names the unit."""
        return self.system / "etc/lutra/unit"

    def drop_in(self, unit: str) -> Path:
        return self.system / "etc/systemd/system" / f"{unit}.d" / "90-lutra.conf"
