"""A fleet's past: many workloads, each a variation of a measured table.

A variation is what another session on a like database could have left: some rows of the table, without some of its
settings, at another level, with effects that are weaker or stronger, and counters at other rates. Strangers by
construction are variations whose readings were dealt out among the configurations at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from lutra_models import History

from benchmarks.tuning import tables
from benchmarks.tuning.named import TASKS
from benchmarks.tuning.tables import Table
from benchmarks.tuning.warm_tasks import past_workload

ROWS = (25, 60)
"""A session's trials, from … to."""
LEVEL = 0.5
"""The deviation of the logarithm of the level: another host."""
STRENGTH = (0.7, 1.3)
"""The power of relative effects, from … to."""
LEFT_OUT = 0.25
"""The share of settings that a session does not move, at most."""
RATES = 0.1
"""The deviation of the logarithm of a counter's rate."""

_NOISE = {"sysbench": 0.15, "twitter": 0.05}
_HISTORIES = ("twitter__task11", "twitter__task23", "sysbench_rw__task33", "sysbench_rw__task18")
TABLES: dict[str, Callable[[], Table]] = {
    **{name: partial(tables.from_history, name, _NOISE[name.split("_")[0]]) for name in _HISTORIES},
    **dict(TASKS),
    "sysbench5": tables.sysbench_few,
}
ALIKE = (
    {"twitter__task11", "twitter__task23"},
    {"sysbench_rw__task18", "sysbench_rw__task33"},
    {"tuna-tpcc", "tuna-cloudlab"},
    {"sysbench20", "sysbench5"},
)
"""Tables of one benchmark, measured on another host or over other settings."""


@dataclass(frozen=True)
class Variation:
    """One past workload of the fleet: which table, which half of it, and the seed that everything is drawn from."""

    table: str
    seed: int
    dealt_out: bool = False
    whole: bool = False

    @property
    def name(self) -> str:
        return f"{self.table}{' (dealt out)' if self.dealt_out else ''} {self.seed}{' whole' if self.whole else ''}"

    @property
    def engine(self) -> str:
        return engine_of(self.table)

    def stranger_to(self, table: str) -> bool:
        """Whether it has nothing to do with workloads of `table`."""
        return self.dealt_out or not (self.table == table or any({self.table, table} <= pair for pair in ALIKE))

    def history(self) -> History:
        """The trials of its session."""
        rng = np.random.default_rng([self.seed, 77])
        whole = TABLES[self.table]()
        table = whole if self.whole else tables.parted(whole, 0)
        if self.dealt_out:
            table = tables.scrambled(table, self.seed)
        count = int(rng.integers(*ROWS))
        return past_workload(_varied(table, rng), rows=count, seed=int(rng.integers(2**31)))


def engine_of(table: str) -> str:
    return "postgresql" if table.startswith("tuna") else "mysql"


def fleet(each: int, dealt_out: int, seed: int = 0) -> list[Variation]:
    """`each` variations of every table and so many dealt out, in random order: the newest one comes last."""
    rng, names = np.random.default_rng(seed), sorted(TABLES)
    made = [Variation(name, 1000 * seed + i) for name in names for i in range(each)]
    made += [Variation(names[i % len(names)], 1000 * seed + 500 + i, dealt_out=True) for i in range(dealt_out)]
    return [made[i] for i in rng.permutation(len(made))]


def _varied(table: Table, rng: np.random.Generator) -> Table:
    columns = list(table.settings)
    kept = [c for c in columns if rng.random() > rng.random() * LEFT_OUT] or columns
    level, strength = float(np.exp(LEVEL * rng.standard_normal())), float(rng.uniform(*STRENGTH))
    typical = float(np.median(table.values[~table.failed]))
    values = np.where(table.failed, table.values, level * typical * np.abs(table.values / typical) ** strength)
    counters = table.counters
    if counters is not None:
        counters = counters * np.exp(RATES * rng.standard_normal(counters.shape[1]))
    return replace(table, settings=table.settings[kept], values=values, counters=counters)
