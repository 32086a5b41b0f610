"""What is studied: a server with its data, the state of its host, and who is measured against whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lutra_models.knobs import Value
from lutra_models.server import Policy

from benchmarks.lab.small_host import Limits

VALUE_BYTES = 512
CLIENTS = 50
HUGE_PAGES = "transparent_hugepage.enabled"
DEFAULT = "default"
ALONE = "lutra, database alone"
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")


@dataclass(frozen=True)
class Study:
    """`options` are the server's as it is found, `kernel` the host's. Limits of 0 requests are none.

    `size` is of the data: keys of Redis, the scale of pgbench. `rate`: transactions a second that clients ask for; 0
    where they send as fast as they are answered. A session searches under each of `policies`, by the name of what it
    hands over. `by_hand` are settings that a person would try instead, and `preloaded` allocators under the server as
    it is found: by name, the library. `against`: whom the report compares all others with besides the default.
    """

    name: str
    engine: str
    options: Mapping[str, str]
    size: int
    limits: Limits
    policies: Mapping[str, Policy]
    by_hand: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    kernel: Mapping[str, str] = field(default_factory=dict)
    clients: int = CLIENTS
    rate: float = 0.0
    warmup_s: float = 3.0
    preloaded: Mapping[str, Path] = field(default_factory=dict)
    against: str = DEFAULT

    @property
    def entrants(self) -> tuple[str, ...]:
        return (DEFAULT, *self.by_hand, *self.preloaded, *self.policies)

    @property
    def moves_host(self) -> bool:
        return any(p.host for p in self.policies.values())


GIB = 2**30
STUDIES: Mapping[str, Study] = {
    s.name: s
    for s in (
        Study(
            "disk",
            engine="redis",
            options={"appendonly": "yes", "appendfsync": "always"},
            size=100_000,
            limits=Limits(read_iops=3000, write_iops=800, memory_bytes=4 * GIB),
            policies={"lutra, durable": Policy(), "lutra, opted out": Policy(durability=True)},
        ),
        Study(
            "pages",
            engine="redis",
            # A snapshot is due whenever the one before has ended.
            options={"save": "1 1", "disable-thp": "no"},
            size=3_000_000,
            limits=Limits(read_iops=0, write_iops=0, memory_bytes=12 * GIB),
            policies={
                "lutra, both sides": Policy(
                    host=True,
                    movable=frozenset(
                        {HUGE_PAGES, "transparent_hugepage.defrag", "vm.swappiness", "disable-thp", "rdbcompression"}
                    ),
                )
            },
            by_hand={"host: never": {HUGE_PAGES: "never"}, "server: disable-thp": {"disable-thp": "yes"}},
            kernel={HUGE_PAGES: "always"},
        ),
        Study(
            "host",
            engine="postgresql",
            options={},
            size=130,
            limits=Limits(read_iops=3000, write_iops=800, memory_bytes=3 * GIB),
            policies={ALONE: Policy(), "lutra, database and host": Policy(host=True)},
            clients=16,
            rate=400.0,
            # The kernel keeps dirty memory for 30 s: a shorter wait counts no configuration's writes to data files.
            warmup_s=40.0,
            preloaded={
                "allocator: jemalloc": LIBRARIES / "libjemalloc.so.2",
                "allocator: tcmalloc": LIBRARIES / "libtcmalloc_minimal.so.4",
            },
            against=ALONE,
        ),
    )
}
