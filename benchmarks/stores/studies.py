"""What is studied: a server with its data, the state of its host, and who is measured against whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lutra_models.knobs import Value
from lutra_models.server import Policy

from benchmarks.lab.small_host import Limits

VALUE_BYTES = 512
CLIENTS = 50
HUGE_PAGES = "transparent_hugepage.enabled"
DEFAULT = "default"


@dataclass(frozen=True)
class Study:
    """`options` are the server's as it is found, `kernel` the host's. Limits of 0 requests are none.

    A session searches under each of `policies`, by the name of what it hands over. `by_hand` are settings that a
    person would try instead.
    """

    name: str
    options: Mapping[str, str]
    keys: int
    limits: Limits
    policies: Mapping[str, Policy]
    by_hand: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    kernel: Mapping[str, str] = field(default_factory=dict)

    @property
    def entrants(self) -> tuple[str, ...]:
        return (DEFAULT, *self.by_hand, *self.policies)


GIB = 2**30
STUDIES: Mapping[str, Study] = {
    s.name: s
    for s in (
        Study(
            "disk",
            options={"appendonly": "yes", "appendfsync": "always"},
            keys=100_000,
            limits=Limits(read_iops=3000, write_iops=800, memory_bytes=4 * GIB),
            policies={"lutra, durable": Policy(), "lutra, opted out": Policy(durability=True)},
        ),
        Study(
            "pages",
            # A snapshot is due whenever the one before has ended.
            options={"save": "1 1", "disable-thp": "no"},
            keys=3_000_000,
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
    )
}
