"""Which of all past workloads may be alike: a cheap look at each of them, in arrays, with numpy alone.

Rows are added, replaced and removed one at a time. First all are looked at as `transfer.similarity` looks: where this
workload's counters lie among the past one's, and how far its readings lie outside those; and in what circumstances both
were measured. Of the nearest some thousands, their strongest effects then say how they would rank what was measured
here.
Shapes: w workloads, n configurations measured here.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from lutra_models.gp.memory import circumstances, signatures
from lutra_models.gp.memory.columns import Columns, Names
from lutra_models.gp.memory.question import Question
from lutra_models.gp.memory.strongest import Strongest
from lutra_models.gp.memory.workload import Workload
from lutra_models.gp.options import DEFAULT, Transfer
from lutra_models.gp.space.encoding import Array

MOST = 20_000
"""Workloads that are looked at; of more the ones added last."""
RANKED = 2_000
"""The nearest, whose effects are asked."""
_NONE = -1


class Index:
    """The arrays, and for each row its id and its owner. Not safe to change and to ask from two threads at once."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._at: dict[str, int] = {}
        self._ids: list[str | None] = []
        self._free: list[int] = []
        self._names = Names()
        self._rows = Columns(
            engine=((), np.int32, _NONE), owner=((), np.int32, 0), **signatures.COLUMNS, **circumstances.COLUMNS
        )
        self._lessons: dict[str, Strongest] = {}
        """By metric: between which levels each workload read, and its strongest effects."""

    def __len__(self) -> int:
        return len(self._at)

    def __contains__(self, id_: str) -> bool:
        return id_ in self._at

    @property
    def ids(self) -> Collection[str]:
        return self._at.keys()

    def put(self, id_: str, engine: str, owner: str, workload: Workload) -> None:
        """Add a workload, or what it is by now; the one that was added first goes where there are too many."""
        self.drop(id_)
        while len(self._at) >= self._most:
            self.drop(next(iter(self._at)))
        row = self._free.pop() if self._free else self._grown()
        self._at[id_], self._ids[row] = row, id_
        self._rows["engine"][row], self._rows["owner"][row] = self._names.number(engine), self._names.number(owner)
        signatures.put(self._rows, row, self._names, workload.signature)
        circumstances.put(self._rows, row, self._names, workload.context)
        for metric in workload.lessons:
            self._lessons.setdefault(metric, Strongest(self._names))
        for metric, lessons in self._lessons.items():
            lessons.put(row, workload.lessons.get(metric))

    def drop(self, id_: str) -> None:
        """Forget a workload, where it is known."""
        row = self._at.pop(id_, None)
        if row is not None:
            self._ids[row] = None
            self._rows["engine"][row] = _NONE
            self._free.append(row)

    def nearest(
        self,
        asked: Question,
        owners: Collection[str],
        count: int,
        without: Collection[str] = (),
        options: Transfer = DEFAULT.transfer,
    ) -> list[tuple[str, float]]:
        """Ids and distances of the likeliest `count` of these owners, strangers left out, the likeliest first."""
        rows = self._of(asked, owners, without)
        if not len(rows):
            return []
        lessons = self._lessons[asked.metric]
        places, strange = signatures.places(self._rows, rows, self._names, asked.counters, options)
        apart = circumstances.apart(self._rows, rows, self._names, asked.context, options)
        far = options.closeness * places + lessons.gaps(rows, asked.level) + apart
        rows, far = _least(rows[~strange], far[~strange], RANKED)
        unlike = far + (len(asked.values) - 1) * math.log(2.0) * (1.0 - lessons.agreement(rows, asked))
        kept, _ = _least(np.arange(len(rows)), unlike, count)
        found = sorted((float(unlike[i]), str(self._ids[rows[i]]), float(far[i])) for i in kept)
        return [(id_, distance) for _, id_, distance in found]

    def _of(self, asked: Question, owners: Collection[str], without: Collection[str]) -> npt.NDArray[np.intp]:
        """The rows of these owners that know the metric."""
        lessons = self._lessons.get(asked.metric)
        if lessons is None:
            return np.zeros(0, dtype=np.intp)
        size = len(self._ids)
        known = np.zeros(len(self._names) + 1, dtype=bool)
        known[[n for o in owners if (n := self._names.known(o)) is not None]] = True
        of_engine = self._rows["engine"][:size] == self._names.known(asked.engine)
        found = of_engine & known[self._rows["owner"][:size]] & lessons.known(size)
        found[[self._at[id_] for id_ in without if id_ in self._at]] = False
        return np.flatnonzero(found)

    def _grown(self) -> int:
        row = len(self._ids)
        self._rows.hold(row)
        self._ids.append(None)
        return row


def _least(rows: npt.NDArray[np.intp], values: Array, count: int) -> tuple[npt.NDArray[np.intp], Array]:
    """The rows of the `count` least values, and these."""
    if len(rows) <= count:
        return rows, values
    kept = np.sort(np.argpartition(values, count - 1)[:count])
    return rows[kept], values[kept]
