"""The observations that are asked for, a few at a time, so that any number of them takes the same memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lutra_models.catalog import did_you_mean, engines

from lutra_service.app.errors import InvalidRequest
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Observed, Selection
from lutra_service.db.store import Store, UnitOfWork

WINDOW = "win_"
TOGETHER = 500
"""Rows that one transaction reads: it is over before they are sent."""
PARTS = {"settings": "setting", "metrics": "metric", "context": "context", "bounds": "bound"}
"""An observation's documents, and how the columns of each begin in a table."""
Admits = Callable[[UnitOfWork], None]


@dataclass(frozen=True)
class Observations:
    """Those that were stored when they were asked for. `admits` is asked before each reading, and raises."""

    store: Store
    wanted: Selection
    until: int
    admits: Admits

    def batches(self) -> Iterator[list[Observed]]:
        after = 0
        while found := self._some(after):
            yield found
            after = found[-1].id

    def lines(self) -> Iterator[bytes]:
        """JSON lines, many in a chunk."""
        for batch in self.batches():
            yield "".join(line(row, self.wanted.metrics) for row in batch if _is_wanted(row, self.wanted)).encode()

    def documents(self) -> Iterator[list[Document]]:
        """The same as documents."""
        for batch in self.batches():
            yield [document(row, self.wanted.metrics) for row in batch if _is_wanted(row, self.wanted)]

    def columns(self) -> Columns:
        """What the rows hold, all of them looked at once: a table names its columns before its first row."""
        found = Columns()
        for batch in self.documents():
            for row in batch:
                found.see(row)
        return found

    def _some(self, after: int) -> list[Observed]:
        def read(unit: UnitOfWork) -> list[Observed]:
            self.admits(unit)
            return unit.observations.some(self.wanted, after, self.until, TOGETHER)

        return self.store.read(read)


@dataclass
class Columns:
    """By part, the names in its documents and of which sort their values are: `int`, `float`, `str`."""

    sorts: dict[str, dict[str, set[type]]] = field(default_factory=lambda: {part: {} for part in PARTS})

    def see(self, row: Document) -> None:
        for part, names in self.sorts.items():
            for name, value in row[part].items():
                names.setdefault(name, set()).add(type(value))

    def named(self) -> Iterator[tuple[str, str, str, set[type]]]:
        """Each column: its name, the part that it is of, its name there, and the sorts of its values."""
        for part, names in self.sorts.items():
            for name in sorted(names):
                yield f"{PARTS[part]}.{name}", part, name, names[name]


def selected(store: Store, wanted: Selection, admits: Admits = lambda _: None) -> Observations:
    return Observations(store, wanted, store.read(lambda unit: unit.observations.last()), admits)


def require_known(unit: UnitOfWork, wanted: Selection) -> None:
    """Raises NotFound for a database or session that is none, and InvalidRequest for an engine without a catalogue."""
    if wanted.database_id is not None:
        unit.databases.get(wanted.database_id)
    if wanted.session_id is not None:
        unit.sessions.get(wanted.session_id)
    if wanted.engine is not None and wanted.engine not in engines():
        hint = did_you_mean(wanted.engine, engines())
        raise InvalidRequest(f"engine: {wanted.engine!r} is none of {', '.join(engines())}{hint}")


def line(row: Observed, metrics: tuple[str, ...]) -> str:
    """One JSON line. Documents go on as they are stored: to read and write them again would take most of the time."""
    measured = json.dumps(_measured(row, metrics)) if metrics else row.metrics
    head = json.dumps(_head(row))[:-1]
    bounds = json.dumps(_bounds(row))
    return (
        f'{head}, "settings": {row.configuration}, "metrics": {measured}, "context": {row.context}, '
        f'"bounds": {bounds}}}\n'
    )


def document(row: Observed, metrics: tuple[str, ...]) -> Document:
    return {
        **_head(row),
        "settings": json.loads(row.configuration),
        "metrics": _measured(row, metrics),
        "context": json.loads(row.context),
        "bounds": _bounds(row),
    }


def _head(row: Observed) -> Document:
    return {
        "id": f"{WINDOW}{row.id}",
        "database": row.database_id,
        "engine": row.engine,
        "session": row.session_id,
        "recommendation": row.recommendation_id,
        "start": _moment(row.window_start),
        "end": _moment(row.window_end),
        "received_at": _moment(row.received_at),
        "windows": row.windows,
        "failure": row.failure,
        "p99_source": row.p99_source,
        "p99_of": row.p99_of,
    }


def _measured(row: Observed, metrics: tuple[str, ...]) -> dict[str, Any]:
    measured: dict[str, Any] = json.loads(row.metrics)
    return {name: measured[name] for name in metrics if name in measured} if metrics else measured


def _bounds(row: Observed) -> dict[str, float]:
    return {} if row.ended_early is None else {row.ended_early["metric"]: row.ended_early["bound"]}


def _is_wanted(row: Observed, wanted: Selection) -> bool:
    """What has none of the metrics that are asked for says nothing, but where it failed."""
    if not wanted.metrics or row.failure is not None:
        return True
    return bool(_measured(row, wanted.metrics))


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat().replace("+00:00", "Z")
