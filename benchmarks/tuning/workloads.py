"""The workloads of the warm race: targets, and the twenty past workloads that each of them is offered.

Of the twenty at most two have to do with the target: the same benchmark on another host or over other knobs, or the
same tables measured before. All others are strangers: other benchmarks, other engines, and tables whose readings were
dealt out at random.
"""

from __future__ import annotations

from dataclasses import dataclass

from lutra_models import History

from benchmarks.tuning import tables
from benchmarks.tuning.named import TASKS, kept
from benchmarks.tuning.tables import Table
from benchmarks.tuning.warm_tasks import WarmTask, past_workload, warm_task

_EARLIER, _LATER, _SCRAMBLED = " (earlier)", " (later)", " (scrambled)"
OFFERED = 20

_TABLES = dict(TASKS)


@dataclass(frozen=True)
class Target:
    """A workload to tune, and the past workloads that have to do with it. `chosen_on`: methods were chosen on it."""

    name: str
    related: tuple[str, ...]
    chosen_on: bool

    def past(self, strangers_alone: bool = False) -> tuple[str, ...]:
        """The names of the twenty that are offered, or of the strangers among them."""
        of_its_own = {self.name, _whole(self.name)}
        plain = [n for n in _TABLES if n not in of_its_own and n not in self.related]
        offered = [*self.related, *plain, *(n + _SCRAMBLED for n in (*plain, *self.related))][:OFFERED]
        return tuple(n for n in offered if not strangers_alone or n not in self.related)


TARGETS: tuple[Target, ...] = (
    Target("twitter__task11", ("twitter__task23",), chosen_on=True),
    Target("sysbench_rw__task18", ("sysbench_rw__task33",), chosen_on=True),
    Target("tuna-tpcc", ("tuna-cloudlab",), chosen_on=True),
    Target("sysbench20", ("sysbench5",), chosen_on=True),
    Target("tuna-tpch" + _LATER, ("tuna-tpch" + _EARLIER,), chosen_on=True),
    Target("twitter__task23", ("twitter__task11",), chosen_on=False),
    Target("sysbench_rw__task33", ("sysbench_rw__task18",), chosen_on=False),
    Target("tuna-cloudlab", ("tuna-tpcc",), chosen_on=False),
    Target("job20" + _LATER, ("job20" + _EARLIER,), chosen_on=False),
    Target("tuna-epinions" + _LATER, ("tuna-epinions" + _EARLIER,), chosen_on=False),
)


def target_task(name: str) -> WarmTask:
    """The workload as a target, kept on disk once it is built."""
    return kept(f"warm-{name}", lambda: warm_task(_table(name)))


def past(name: str) -> History:
    """What the workload left behind, kept on disk once it is read."""
    return kept(f"past-{name}", lambda: past_workload(_table(name)))


def _table(name: str) -> Table:
    if name.endswith(_SCRAMBLED):
        return tables.scrambled(_table(name.removesuffix(_SCRAMBLED)))
    whole = _TABLES[_whole(name)]()
    return whole if name == _whole(name) else tables.parted(whole, int(name.endswith(_LATER)))


def _whole(name: str) -> str:
    return name.removesuffix(_LATER).removesuffix(_EARLIER)
