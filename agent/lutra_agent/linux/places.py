"""Where the helper reads and writes. A test gives other folders; the installed program knows these alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lutra_agent.linux.kernel import KernelSetting

SYSCTLS = Path("/etc/sysctl.d/90-lutra.conf")
DEVICES = Path("/etc/lutra/host.conf")


@dataclass(frozen=True)
class Places:
    """`root` has the kernel's `proc` and `sys`. Two files make values last; `memory` is the helper's own folder.

    `system` is the root of the files by which others set the same: those of sysctl.d and TuneD.
    """

    root: Path = Path("/")
    sysctls: Path = SYSCTLS
    devices: Path = DEVICES
    memory: Path = Path("/var/lib/lutra-host")
    system: Path = Path("/")

    def lasting(self, setting: KernelSetting) -> Path:
        return self.sysctls if setting.file.startswith("proc/sys/") else self.devices
