"""The requested observations, a few at a time, so that any number of them takes the same memory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from lutra_models.catalog import did_you_mean, engines

from lutra_service.app.errors import InvalidRequest
from lutra_service.app.observations.sheet import verify_width
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Observed, Selection
from lutra_service.db.store import Store, UnitOfWork

WINDOW = "win_"
TOGETHER = 500
"""The number of rows that one transaction reads. It ends before they are sent."""
TOGETHER_BYTES = 4 << 20
"""The size of their documents at which it stops reading."""
REPEATED_BYTES = 16 << 10
"""A longer text is parsed each time: caching many of them would waste memory."""
SHAPES = 64
"""The number of recent document shapes that are cached."""
NARROWER = (
    "select metrics (`metric`), a database, a session or an engine, or use format=jsonl, where each "
    "row has its own names"
)
PARTS = {"settings": "setting", "metrics": "metric", "context": "context", "bounds": "bound"}
"""An observation's documents, and how the columns of each begin in a table."""
SET = ("settings", "context")
"""The parts whose values are numbers or texts; measurements are numbers."""
Admits = Callable[[UnitOfWork], None]


@dataclass(frozen=True)
class Observations:
    """The observations as stored at the time of the request. `admits` is called before each read, and may raise."""

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
            yield "".join(line for row in batch if (line := _line(row, self.wanted.metrics)) is not None).encode()

    def documents(self) -> Iterator[list[Document]]:
        """The same as documents."""
        for batch in self.batches():
            yield [found for row in batch if (found := _document(row, self.wanted.metrics)) is not None]

    def columns(self) -> Generator[bytes, None, Columns]:
        """The columns of all rows: a table names its columns before its first row.

        Yields nothing after each batch, so that a waiting caller may stop. Raises InvalidRequest for too many columns.
        """
        found = Columns()
        for batch in self.documents():
            for row in batch:
                found.see(row)
            yield b""
        return found

    def _some(self, after: int) -> list[Observed]:
        def read(unit: UnitOfWork) -> list[Observed]:
            self.admits(unit)
            return unit.observations.some(self.wanted, after, self.until, TOGETHER, TOGETHER_BYTES)

        return self.store.read(read)


@dataclass
class Columns:
    """By part, every name that occurs in its documents, each with the types of its values."""

    found: dict[str, dict[str, set[type]]] = field(default_factory=lambda: {part: {} for part in PARTS})
    _shapes: set[tuple[Any, ...]] = field(default_factory=set)
    _first: Counter[str] = field(default_factory=Counter)
    """The number of names that were first seen in each database."""

    def see(self, row: Document) -> None:
        """Raises InvalidRequest if a table of all that was seen would be too wide."""
        before = len(self)
        for part, names in self.found.items():
            document = row[part]
            sorts = tuple(map(sort_of, document.values())) if part in SET else (float,) * len(document)
            shape = (part, *document, *sorts)
            if shape not in self._shapes:
                for name, sort in zip(document, sorts, strict=True):
                    names.setdefault(name, set()).add(sort)
                if len(self._shapes) >= SHAPES:
                    self._shapes.clear()
                self._shapes.add(shape)
        if len(self) > before:
            self._first[row["database"]] += len(self) - before
            ((database, count),) = self._first.most_common(1)
            verify_width(len(self), f", {count:,} of them by {database}", NARROWER)

    def __len__(self) -> int:
        return sum(map(len, self.found.values()))

    def named(self) -> Iterator[tuple[str, str, str, set[type]]]:
        """Each column: its name, its part, its name in that part, and the types of its values."""
        for part, names in self.found.items():
            for name in sorted(names):
                yield f"{PARTS[part]}.{name}", part, name, names[name]


def sort_of(value: Any) -> type:
    """The type that a column needs for the value: a whole number beyond 64 bits becomes a float, one beyond that a
    text.
    """
    if type(value) is not int or -(2**63) <= value < 2**63:
        return type(value)
    return float if abs(value) < 2**1023 else str


def selected(store: Store, wanted: Selection, admits: Admits = lambda _: None) -> Observations:
    return Observations(store, wanted, store.read(lambda unit: unit.observations.last()), admits)


def require_known(unit: UnitOfWork, wanted: Selection) -> None:
    """Raises NotFound for an unknown database or session, and InvalidRequest for an engine without a catalogue."""
    if wanted.database_id is not None:
        unit.databases.get(wanted.database_id)
    if wanted.session_id is not None:
        unit.sessions.get(wanted.session_id)
    require_engine(wanted.engine)


def require_engine(engine: str | None) -> None:
    """Raises InvalidRequest for one without a catalogue; None is any."""
    if engine is not None and engine not in engines():
        hint = did_you_mean(engine, engines())
        raise InvalidRequest(f"engine: {engine!r} is not one of {', '.join(engines())}{hint}")


def _line(row: Observed, metrics: tuple[str, ...]) -> str | None:
    """One JSON line; None for what has none of `metrics`.

    Documents go on as they are stored: to read and write them again would take most of the time.
    """
    measured = row.metrics
    if metrics:
        chosen = _measured(row, metrics)
        if chosen is None:
            return None
        measured = json.dumps(chosen)
    bounds = "{}" if row.ended_early is None else json.dumps(_bounds(row))
    return (
        f'{_written_head(row)}, "settings": {row.configuration}, "metrics": {measured}, "context": {row.context}, '
        f'"bounds": {bounds}}}\n'
    )


def _written_head(row: Observed) -> str:
    """`_head` as JSON, without its closing brace: what differs from row to row has nothing that JSON would escape."""
    start, end, received = (_quoted(_moment(at)) for at in (row.window_start, row.window_end, row.received_at))
    of = _same(row.database_id, row.engine, row.engine_version, row.host, row.session_id, row.recommendation_id)
    rest = _same_rest(row.windows, row.failure, row.p99_source, row.p99_of)
    return f'{{"id": "{WINDOW}{row.id}", {of}, "start": {start}, "end": {end}, "received_at": {received}, {rest}'


def _quoted(text: str | None) -> str:
    return "null" if text is None else f'"{text}"'


@lru_cache(maxsize=1024)
def _same(database: str, engine: str, version: str | None, host: str | None, *of: str | None) -> str:
    """What repeats from row to row is written once; `of` is the session and the recommendation."""
    fields = {"database": database, "engine": engine, **_server(version, host)}
    return json.dumps({**fields, **dict(zip(("session", "recommendation"), of, strict=True))})[1:-1]


@lru_cache(maxsize=1024)
def _server(version: str | None, host: str | None) -> Document:
    """What the database's agent last said of the server and its host."""
    facts = (json.loads(host) if host else None) or {}
    return {"engine_version": version, "memory_bytes": facts.get("memory_bytes"), "cores": facts.get("cores")}


@lru_cache(maxsize=1024)
def _same_rest(windows: int, failure: str | None, p99_source: str | None, p99_of: str | None) -> str:
    told = {"windows": windows, "failure": failure, "p99_source": p99_source, "p99_of": p99_of}
    return json.dumps(told)[1:-1]


def _document(row: Observed, metrics: tuple[str, ...]) -> Document | None:
    measured = _measured(row, metrics)
    if measured is None:
        return None
    parts = {"settings": _read(row.configuration), "metrics": measured, "context": _read(row.context)}
    return {**_head(row), **parts, "bounds": _bounds(row)}


def _read(text: str) -> Document:
    """What is set repeats from row to row. Nobody changes what is read here."""
    return _read_once(text) if len(text) <= REPEATED_BYTES else _read_once.__wrapped__(text)


@lru_cache(maxsize=1024)
def _read_once(text: str) -> Document:
    found: Document = json.loads(text)
    return found


def _head(row: Observed) -> Document:
    return {
        "id": f"{WINDOW}{row.id}",
        "database": row.database_id,
        "engine": row.engine,
        **_server(row.engine_version, row.host),
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


def _measured(row: Observed, metrics: tuple[str, ...]) -> dict[str, Any] | None:
    """All that was measured, or these metrics of it. What has none of them says nothing, but where it failed."""
    measured: dict[str, Any] = json.loads(row.metrics)
    if not metrics:
        return measured
    chosen = {name: measured[name] for name in metrics if name in measured}
    return chosen if chosen or row.failure is not None else None


def _bounds(row: Observed) -> dict[str, float]:
    return {} if row.ended_early is None else {row.ended_early["metric"]: row.ended_early["bound"]}


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat().replace("+00:00", "Z")
