"""What is studied, in the order in which it is worth having."""

from __future__ import annotations

from dataclasses import dataclass

from lutra_models.metrics import Objective

QPS = Objective("qps", "maximize")
P99 = Objective("p99_ms", "minimize")
FEW, MANY = 16, 32
"""Threads: trials run with few, and with many only what came of them is measured."""


@dataclass(frozen=True)
class Study:
    """`durable`: settings that can lose committed data are left alone."""

    engine: str
    workload: str
    objective: Objective
    durable: bool

    @property
    def name(self) -> str:
        words = (self.engine, self.workload.removeprefix("oltp_"), self.objective.metric.removesuffix("_ms"))
        return "-".join((*words, "durable" if self.durable else "relaxed"))


WRITES, MIXED = "oltp_write_only", "oltp_read_write"
STUDIES: tuple[Study, ...] = (
    Study("mariadb", WRITES, QPS, durable=True),
    Study("mariadb", MIXED, QPS, durable=True),
    Study("mariadb", WRITES, QPS, durable=False),
    Study("mariadb", WRITES, P99, durable=False),
    Study("mariadb", WRITES, P99, durable=True),
    Study("mariadb", MIXED, P99, durable=False),
    Study("mariadb", MIXED, P99, durable=True),
    Study("mysql", WRITES, QPS, durable=True),
    Study("postgresql", "tpcb-like", P99, durable=True),
    Study("mysql", WRITES, QPS, durable=False),
)


def named(name: str) -> Study:
    """Raises KeyError."""
    return {s.name: s for s in STUDIES}[name]
