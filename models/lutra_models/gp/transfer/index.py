"""The past workloads that may be similar: a cheap comparison with each of them, in arrays, with numpy alone.

Rows are added, replaced and removed one at a time. First all are compared as in `transfer.similarity`: by the place of
this workload's counters among the past one's, by the distance of its readings from those, and by the circumstances of
both. That is the prior of each before anything is ranked. Of the nearest thousand, those are kept whose strongest
effects agree best with the readings here. Of these few, every pair of configurations supports or contradicts each, as
in `transfer.similarity`, by the sum of its effects in place of its posterior. Shapes: w workloads, n configurations
measured here.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lutra_models.gp.options import DEFAULT, Options
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.transfer import circumstances, signatures
from lutra_models.gp.transfer.columns import Columns, Names
from lutra_models.gp.transfer.question import Question
from lutra_models.gp.transfer.strongest import Strongest
from lutra_models.gp.transfer.workload import Workload

MOST = 20_000
"""The most workloads in the comparison; of more, the ones added last."""
COMPARED = 1_000
"""The number of nearest workloads whose effects are compared with the readings."""
COMPARED_AT = 12
"""The number of configurations of that comparison, taken evenly in their order."""
RANKED_AT = 40
"""The same where pairs of configurations are ranked."""
_NONE = -1


@dataclass(frozen=True)
class Likeness:
    """The resemblance of a past workload to the requested one.

    `distance` is that of signatures, levels and circumstances, from 0 on. `agreement` is the quality with which its
    effects rank the measurements there, from 0 to 1, where one half is chance; None before there are two to rank.
    """

    id: str
    distance: float
    agreement: float | None


class Index:
    """The arrays, and for each row its id and its owner. Not safe for changes and queries from two threads at once."""

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
        """Add or replace a workload; if there are too many, the oldest is removed."""
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
        """Remove a workload, if it is known."""
        row = self._at.pop(id_, None)
        if row is not None:
            self._ids[row] = None
            self._rows["engine"][row] = _NONE
            self._free.append(row)

    def likeliest(
        self,
        asked: Question,
        owners: Collection[str] | None,
        count: int,
        without: Collection[str] = (),
        options: Options = DEFAULT,
    ) -> list[str]:
        """Ids of the likeliest `count` of these owners (None: of all), the likeliest first.

        Equal ones are sorted by descending id. Workloads outside the range of counters are left out.
        """
        return [found.id for found in self.ranked(asked, owners, count, without, options)]

    def ranked(
        self,
        asked: Question,
        owners: Collection[str] | None,
        count: int,
        without: Collection[str] = (),
        options: Options = DEFAULT,
    ) -> list[Likeness]:
        """`likeliest`, each with the basis of its rank."""
        rows = self._of(asked, owners, without)
        if not len(rows):
            return []
        lessons = self._lessons[asked.metric]
        places, strange = signatures.places(self._rows, rows, self._names, asked.counters, options.transfer)
        apart = circumstances.apart(self._rows, rows, self._names, asked.context, options.transfer)
        far = options.transfer.closeness * places + lessons.gaps(rows, asked.level) + apart
        rows, far = _least(rows[~strange], far[~strange], far[~strange], COMPARED)
        unlike = far + (len(asked.values) - 1) * math.log(2.0) * (1.0 - lessons.agreement(rows, asked, COMPARED_AT))
        rows, far = _least(rows, far, unlike, count)
        claims = lessons.claims(rows, asked, RANKED_AT, options)
        order = sorted(range(len(rows)), key=lambda i: str(self._ids[rows[i]]), reverse=True)
        order.sort(key=lambda i: far[i] - claims[i])
        pairs = len(asked.values) - 1
        agreed = [float(np.exp(c / pairs)) if pairs > 0 else None for c in claims]
        return [Likeness(str(self._ids[rows[i]]), float(far[i]), agreed[i]) for i in order]

    def _of(self, asked: Question, owners: Collection[str] | None, without: Collection[str]) -> npt.NDArray[np.intp]:
        """The rows of these owners that know the metric."""
        lessons = self._lessons.get(asked.metric)
        if lessons is None:
            return np.zeros(0, dtype=np.intp)
        size = len(self._ids)
        known = np.full(len(self._names) + 1, owners is None)
        known[[n for o in owners or () if (n := self._names.known(o)) is not None]] = True
        of_engine = self._rows["engine"][:size] == self._names.known(asked.engine)
        found = of_engine & known[self._rows["owner"][:size]] & lessons.known(size)
        found[[self._at[id_] for id_ in without if id_ in self._at]] = False
        return np.flatnonzero(found)

    def _grown(self) -> int:
        row = len(self._ids)
        self._rows.hold(row)
        self._ids.append(None)
        return row


def _least(rows: npt.NDArray[np.intp], far: Array, values: Array, count: int) -> tuple[npt.NDArray[np.intp], Array]:
    """Of the `count` least values, the rows and how far they are."""
    if len(rows) <= count:
        return rows, far
    kept = np.sort(np.argpartition(values, count - 1)[:count])
    return rows[kept], far[kept]
