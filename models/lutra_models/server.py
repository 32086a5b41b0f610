"""One live server: its settings as it reports them, its host, and the operator's policy.

These are the catalogue's inputs. They contain text as the server printed it; the catalogue parses it once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from lutra_models.digest import fingerprint
from lutra_models.knobs import Applies, Risk, Value

SettingKind = Literal["integer", "real", "bool", "enum", "string"]
Role = Literal["primary", "standby"]
MemoryCount = Literal["in_use", "worst_case"]
"""The sum that a memory limit bounds: the memory that can really be in use at once, or everything full at once."""

SERVER = "server"
"""The setting source that is the database server itself."""

LARGEST_BYTES = 2**64
MOST_CORES = 1e6
LONGEST_FACT = 100
MARGIN = 1 / 16
"""The share of the memory that stays free in addition to the server and all other programs."""
LEAST_USABLE = 1 / 16
"""Formulas assume at least this share of the memory, however much others use."""
LIMITS = ("shm_bytes", "open_files", "tasks", "write_iops")
"""Facts of a `Host` that bound a server beside its memory."""
STAND_FOR = {"memory_pages": "transparent_hugepage.enabled", "allocator": "server.allocator"}
"""Facts of a `Host` that replace a setting that is not reported: a setting that may move is not a circumstance."""


@dataclass(frozen=True)
class ServerSetting:
    """One setting as the live server reports it.

    `value` is in `unit` ("8kB", "ms", …), the server's own. `low`, `high` and `options` say what it takes.
    `persisted` is the text in the file that the agent writes, None if that file does not mention it:
    the undo is exact. `shadowed` says that something outranks that file (a command line, a file read later), so that a
    change would have no effect; it names what. `unreached` names those who have a value of their own, as a role or a
    database may: a change reaches everybody but them.
    """

    value: str
    unit: str = ""
    kind: SettingKind = "string"
    low: float | None = None
    high: float | None = None
    options: tuple[str, ...] = ()
    applies: Applies | Literal["fixed"] = "reload"
    source: str = "default"
    persisted: str | None = None
    shadowed: str | None = None
    pending_restart: bool = False
    unreached: str | None = None


@dataclass(frozen=True)
class Host:
    """The resources that the server may use, with container and cgroup limits if they are narrower than the machine,
    and the kind of machine. Facts that the host does not report are None.
    """

    memory_bytes: int
    cores: float
    disk_bytes: int | None = None
    """The disk size that the formulas use: the data disk's size, or less if it is nearly full."""
    rotational: bool | None = None
    """A spinning disk; None if unknown, as on most virtual machines."""
    kernel: str | None = None
    """`6.18`."""
    allocator: str | None = None
    """The name of the library from which the server takes its memory."""
    file_system: str | None = None
    """The file system of the data, by its name."""
    device: str | None = None
    """The kind of the data's disk: `nvme`, `network` …"""
    memory_pages: str | None = None
    """The use of transparent huge pages, and whether there are explicit ones."""
    machine: str | None = None
    """The firmware's name of the machine; in some clouds the instance type."""
    others_bytes: int | None = None
    """The most memory that others, including the kernel, used in the observed windows: the server cannot have it. None
    if the server's process, or the memory of its host, is not visible.
    """
    resident_bytes: int | None = None
    """The memory of the server's own processes now; shared memory is counted once."""
    shm_bytes: int | None = None
    """The size of the server's /dev/shm."""
    open_files: int | None = None
    """The limit of open files of the server's process."""
    tasks: int | None = None
    """The limit of processes and threads in the server's control group."""
    write_iops: int | None = None
    """The limit of writes per second to the data's disk in the server's control group."""

    @property
    def usable_bytes(self) -> int:
        """The memory less the part that others use: formulas divide it among the settings."""
        left = self.memory_bytes - (self.others_bytes or 0)
        return max(left, int(self.memory_bytes * LEAST_USABLE), 1)

    @property
    def margin_bytes(self) -> int:
        return int(self.memory_bytes * MARGIN)

    @property
    def kind(self) -> dict[str, str]:
        """The known facts, by name."""
        names = ("kernel", "allocator", "file_system", "device", "memory_pages", "machine")
        return {name: text for name in names if (text := getattr(self, name)) is not None}

    def __post_init__(self) -> None:
        if long := [name for name, text in self.kind.items() if not 0 < len(text) <= LONGEST_FACT]:
            raise ValueError(f"{long[0]} must have 1 to {LONGEST_FACT} characters, got {len(self.kind[long[0]])}")
        if not (0 < self.memory_bytes <= LARGEST_BYTES and 0 < self.cores <= MOST_CORES):
            raise ValueError(
                f"memory and cores must be positive, and at most {LARGEST_BYTES} and {MOST_CORES:g}, "
                f"got {self.memory_bytes} and {self.cores}"
            )
        for name in ("disk_bytes", "others_bytes", "resident_bytes", *LIMITS):
            number = getattr(self, name)
            if number is not None and not 0 <= number <= LARGEST_BYTES:
                raise ValueError(f"{name} must be within [0, {LARGEST_BYTES}], got {number}")


@dataclass(frozen=True)
class Server:
    """One database server as its agent sees it. `peak_connections` is the most seen at once, 0 if unknown.

    `identifier` is the server's name for itself (a system identifier, a UUID), empty if it does not report one.
    """

    engine: str
    version: str
    settings: Mapping[str, ServerSetting]
    host: Host
    role: Role = "primary"
    peak_connections: int = 0
    identifier: str = ""

    @property
    def circumstances(self) -> dict[str, Value]:
        """The circumstances of its measurements, whatever its settings are: the server, its hardware, and the system
        beneath.
        """
        kind = {n: text for n, text in self.host.kind.items() if STAND_FOR.get(n) not in self.settings}
        sizes = {"memory_bytes": self.host.memory_bytes, "cores": self.host.cores}
        return {"engine": self.engine, "engine_version": self.version, **sizes, **kind}

    @property
    def settings_hash(self) -> str:
        """Changes when any setting does; settings travel only then."""
        told = ("value", "unit", "persisted", "shadowed", "pending_restart", "unreached")
        return fingerprint({n: [getattr(s, part) for part in told] for n, s in self.settings.items()})


@dataclass(frozen=True)
class Policy:
    """The operator's policy. Texts are parsed by the catalogue, so that "4GB" and 524288 are equivalent.

    `pins` keep a setting at a value; `ranges` narrow the searched range; `movable` (None: every one of the catalogue's
    tunable settings) chooses which may move. `restart` admits settings that need one. `durability` admits settings that
    can lose committed data, `host` those of the machine, which affect everything that runs there. `memory_fraction` of
    the host's memory is the memory limit, and `memory_count` says which sum is compared with it.
    """

    pins: Mapping[str, str | int | float] = field(default_factory=dict)
    ranges: Mapping[str, tuple[str | int | float, str | int | float]] = field(default_factory=dict)
    movable: frozenset[str] | None = None
    restart: bool = True
    durability: bool = False
    memory_fraction: float = 0.8
    memory_count: MemoryCount = "in_use"
    host: bool = False

    def admits(self, risk: Risk) -> bool:
        """Whether settings of this risk may move."""
        return (risk != "durability" or self.durability) and (risk != "host" or self.host)

    def __post_init__(self) -> None:
        if not 0 < self.memory_fraction <= 1:
            raise ValueError(f"memory_fraction must be in (0, 1], got {self.memory_fraction}")
        if self.memory_count not in get_args(MemoryCount):
            raise ValueError(f"memory_count must be one of {get_args(MemoryCount)}, got {self.memory_count!r}")
