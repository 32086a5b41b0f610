"""The Linux host: a line of a file that its next start reads, and a value that the kernel takes at once.

vm.swappiness = 10               # /etc/sysctl.d/90-lutra.conf
sysctl -w vm.swappiness=10

The allocator is a line of the server's unit, which its next start reads once systemd knows the line.
"""

from __future__ import annotations

from lutra_models.catalog.statements.steps import FileLine, Renderer, Statement, Step

SYSCTL_FILE = "/etc/sysctl.d/90-lutra.conf"
DEVICE_FILE = "/etc/lutra/host.conf"
"""The lines of Lutra's own unit, for settings outside sysctl."""
UNIT_FILE = "/etc/systemd/system/SERVER_UNIT.d/90-lutra.conf"
ALLOCATOR = "server.allocator"
LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}
OWN_ALLOCATOR = "system"
SYSCTLS = ("vm.", "kernel.", "net.")
BY_RATIO = {
    "vm.dirty_background_bytes": "vm.dirty_background_ratio",
    "vm.dirty_bytes": "vm.dirty_ratio",
}
"""A 0 in these settings means that the kernel uses a ratio. No file can request that; it is the state without a line.
"""
FOLDERS = {"transparent_hugepage": "/sys/kernel/mm/transparent_hugepage", "data_disk": "/sys/block/DATA_DISK/queue"}


def is_sysctl(name: str) -> bool:
    return name.startswith(SYSCTLS)


def kept(name: str, value: str | None) -> str | None:
    """The lines of the file that persist `value`."""
    unsaid = OWN_ALLOCATOR if name == ALLOCATOR else "0" if name in BY_RATIO else None
    return None if value == unsaid else value


def change(name: str, text: str, _restart: bool) -> tuple[Step, ...]:
    return (_line(name, text), _active(name, text))


def undo(name: str, text: str | None, active: str, _restart: bool) -> tuple[Step, ...]:
    """The value comes first: until it is restored, the file shows its owner."""
    if name == ALLOCATOR:
        return change(name, text or OWN_ALLOCATOR, True)
    return (_active(name, active), _line(name, text))


def _active(name: str, text: str) -> Statement:
    return Statement(name, _command(name, text), wanted=text)


def _command(name: str, text: str) -> str:
    if name == ALLOCATOR:
        return f"systemctl daemon-reload  # after the change of {name} in the unit's file"
    if name in BY_RATIO and text == "0":
        return f"sysctl -w {BY_RATIO[name]}=AS_BEFORE  # so that {name} is 0"
    if is_sysctl(name):
        return f"sysctl -w {name}={text}"
    folder, _, file = name.partition(".")
    return f"echo {text} > {FOLDERS[folder]}/{file}  # {name}"


def _line(name: str, value: str | None) -> FileLine:
    value = kept(name, value)
    text = f"# without {name}" if value is None else f"{name} = {value}"
    if name != ALLOCATOR:
        return FileLine(name, text, SYSCTL_FILE if is_sysctl(name) else DEVICE_FILE, value=value)
    if value is not None:
        text = f"Environment=LD_PRELOAD={LIBRARIES.get(value, value)}"
    return FileLine(name, text, UNIT_FILE, "Service", value)


LINUX = Renderer("linux", change, undo)
