"""The loads under which the estimate is compared: single statements, and transactions apart."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Load:
    """`rate` 0 is as fast as the threads can; else events per second, and the wait for one's turn counts."""

    script: str
    threads: int
    distribution: str = "uniform"
    rate: int = 0

    @property
    def name(self) -> str:
        return f"{self.script} ×{self.threads} {self.distribution}" + (f" {self.rate}/s" if self.rate else "")


SINGLE = (
    Load("oltp_point_select", 1),
    Load("oltp_point_select", 8),
    Load("oltp_point_select", 32, "pareto"),
    Load("oltp_point_select", 4, rate=2000),
    Load("oltp_update_index", 1),
    Load("oltp_update_index", 8, "pareto"),
    Load("oltp_update_index", 4, rate=500),
    Load("oltp_update_non_index", 2),
    Load("oltp_update_non_index", 32, "pareto"),
    Load("oltp_update_non_index", 4, rate=500),
    Load("oltp_insert", 4),
    Load("oltp_insert", 8, rate=500),
    Load("oltp_delete", 4),
    Load("select_random_points", 2),
    Load("select_random_points", 16, "pareto"),
    Load("select_random_points", 8, rate=500),
    Load("select_random_ranges", 4),
    Load("select_random_ranges", 8, rate=300),
)
TRANSACTIONS = (
    Load("oltp_read_write", 4),
    Load("oltp_read_write", 8, rate=100),
    Load("oltp_read_only", 8, "pareto"),
    Load("oltp_write_only", 8),
)
