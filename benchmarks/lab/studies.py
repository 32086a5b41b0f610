"""What is studied, in the order in which it is worth having."""

from __future__ import annotations

from collections.abc import Iterator
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


def _of(engine: str, first: str, *others: str) -> Iterator[Study]:
    for objective, durable in ((QPS, True), (QPS, False), (P99, False), (P99, True)):
        yield Study(engine, first, objective, durable)
        if (objective, durable) == (QPS, True):
            yield from (Study(engine, workload, objective, durable) for workload in others)
    for workload in others:
        yield from (Study(engine, workload, o, d) for o, d in ((P99, False), (P99, True), (QPS, False)))


STUDIES: tuple[Study, ...] = (
    *_of("mariadb", "oltp_write_only", "oltp_read_write"),
    *_of("mysql", "oltp_write_only", "oltp_read_write"),
    *_of("postgresql", "tpcb-like"),
)


def named(name: str) -> Study:
    """Raises KeyError."""
    return {s.name: s for s in STUDIES}[name]
