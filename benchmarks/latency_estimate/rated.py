"""Loads at a rate that leaves processors idle, and configurations of one of them, for the sampled sources of p99."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

ROWS = 100_000
"""Of pgbench's accounts at scale 1."""


@dataclass(frozen=True)
class Rated:
    """`scripts` are pgbench's own by name, or texts, each with its weight. `whole`: the log samples transactions."""

    name: str
    scripts: Mapping[str, int]
    clients: int
    rate: int
    whole: bool = False
    protocol: str = "simple"
    settings: Mapping[str, str] = field(default_factory=dict)


ANY = r"\set a random(1, 100000 * :scale)" + "\n"
ONE = ANY + "SELECT abalance FROM pgbench_accounts WHERE aid = :a;\n"
UPDATE = ANY + "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :a;\n"
INSERT = ANY + "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, :a, 1, now());\n"
POINTS = ANY + "SELECT sum(abalance) FROM pgbench_accounts WHERE aid IN (:a, :a + 7, :a + 70, :a + 700, :a + 7000);\n"
RANGE = ANY + "SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN :a AND :a + 2000;\n"
SORT = ANY + "SELECT * FROM pgbench_accounts WHERE aid BETWEEN :a AND :a + 9000 ORDER BY abalance, filler LIMIT 1;\n"
HOT = r"\set a random(1, 5)" + "\nUPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = :a;\n"
READS = "BEGIN;\n" + 5 * ONE + "COMMIT;\n"
WRITES = "BEGIN;\n" + 3 * ONE + 2 * UPDATE + INSERT + "COMMIT;\n"

LOADS = (
    Rated("select-only", {"select-only": 1}, 4, 500),
    Rated("update", {UPDATE: 1}, 8, 200),
    Rated("update, prepared", {UPDATE: 1}, 16, 300, protocol="prepared"),
    Rated("tpcb-like", {"tpcb-like": 1}, 8, 60, whole=True),
    Rated("simple-update", {"simple-update": 1}, 8, 100, whole=True),
    Rated("insert", {INSERT: 1}, 4, 200),
    Rated("five points", {POINTS: 1}, 4, 200),
    Rated("range", {RANGE: 1}, 4, 100),
    Rated("sort on disk", {SORT: 1}, 4, 15, settings={"work_mem": "64kB"}),
    Rated("hot rows", {HOT: 1}, 8, 100),
    Rated("update, no flush", {UPDATE: 1}, 8, 200, settings={"synchronous_commit": "off"}),
    Rated("five reads", {READS: 1}, 4, 60, whole=True),
    Rated("reads and writes", {WRITES: 1}, 8, 50, whole=True),
    Rated("one in ten long", {"select-only": 9, "tpcb-like": 1}, 8, 150, whole=True),
)
"""The estimators were made with the first five, at other rates; the others are loads that they had not met."""
CHOSEN_ON = 5

MOVED: Mapping[str, tuple[str, ...]] = {
    "synchronous_commit": ("on", "on", "off"),
    "commit_delay": ("0", "0", "2000", "8000", "20000"),
    "commit_siblings": ("0", "5"),
    "enable_indexscan": ("on", "on", "on", "off"),
    "full_page_writes": ("on", "off"),
    "work_mem": ("64kB", "4MB"),
}


def configurations(count: int) -> list[Rated]:
    """Of one load, each with its settings drawn."""
    chance = random.Random(7)
    drawn = [{name: chance.choice(values) for name, values in MOVED.items()} for _ in range(count)]
    return [Rated(f"configuration {i}", {WRITES: 1}, 8, 40, True, settings=s) for i, s in enumerate(drawn, 1)]
