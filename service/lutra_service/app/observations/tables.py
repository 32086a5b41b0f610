"""Observations as tables, written as they are read: CSV, and Parquet where pyarrow is installed."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Literal

from lutra_service.app.errors import InvalidRequest
from lutra_service.app.observations.selection import PARTS, Columns, Observations
from lutra_service.app.observations.sheet import rows_together, sheet
from lutra_service.common.documents import Document

Format = Literal["jsonl", "csv", "parquet"]
HEAD = (
    *("id", "database", "engine", "engine_version", "memory_bytes", "cores", "session", "recommendation"),
    *("start", "end", "received_at", "windows", "failure", "p99_source", "p99_of"),
)
MOMENTS = ("start", "end", "received_at")
FACTS = ("memory_bytes", "cores")
GROUP_BYTES = 64 << 20
"""The rows in one group of a Parquet file: its footer names every column of every group."""


def encoded(observations: Observations, wanted: Format) -> Iterator[bytes]:
    """The bytes of a file, in small pieces, some of which are empty.

    Raises InvalidRequest for Parquet if pyarrow is not installed, and with the first bytes for too many columns.
    """
    makes: dict[Format, Callable[[Observations], Iterator[bytes]]] = {"jsonl": _lines, "csv": _csv, "parquet": _parquet}
    if wanted == "parquet":
        arrow()
    return makes[wanted](observations)


def arrow() -> Any:
    """pyarrow with its Parquet module. Raises InvalidRequest if it is not installed."""
    try:
        importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise InvalidRequest(
            "format: parquet needs pyarrow beside the service, pip install 'lutra-service[parquet]'; "
            "jsonl and csv are always available"
        ) from error
    return importlib.import_module("pyarrow")


def _lines(observations: Observations) -> Iterator[bytes]:
    return observations.lines()


def _csv(observations: Observations) -> Iterator[bytes]:
    columns = yield from observations.columns()
    cells = _Cells(columns)
    rows = (cells.of(row) for batch in observations.documents() for row in batch)
    yield from sheet([*HEAD, *(title for title, *_ in columns.named())], rows)


class _Cells:
    """Which column each of an observation's values is in."""

    def __init__(self, columns: Columns) -> None:
        named = enumerate(columns.named(), len(HEAD))
        self._by_name = {(part, name): place for place, (_, part, name, _) in named}

    def of(self, row: Document) -> Iterator[tuple[int, Any]]:
        """A row's own cells, each with the number of its column."""
        yield from enumerate(row[name] for name in HEAD)
        for part in PARTS:
            for name, value in row[part].items():
                yield self._by_name[part, name], value


def _parquet(observations: Observations) -> Iterator[bytes]:
    pa, sink = arrow(), _Sink()
    columns = yield from observations.columns()
    schema, cells = _schema(pa, columns), _Cells(columns)
    together, pieces, size = rows_together(len(schema)), [], 0
    with pa.parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in observations.documents():
            for start in range(0, len(batch), together):
                pieces.append(_table(pa, schema, cells, batch[start : start + together]))
                size += pieces[-1].nbytes
                if size >= GROUP_BYTES:
                    writer.write_table(pa.concat_tables(pieces))
                    pieces, size = [], 0
                yield sink.taken()
        if pieces:
            writer.write_table(pa.concat_tables(pieces))
    yield sink.taken()


def _schema(pa: Any, columns: Columns) -> Any:
    plain = {**dict.fromkeys(HEAD, pa.string()), "windows": pa.int64(), **dict.fromkeys(FACTS, pa.float64())}
    moments = dict.fromkeys(MOMENTS, pa.timestamp("us", "UTC"))
    told = {title: _type(pa, sorts) for title, _, _, sorts in columns.named()}
    return pa.schema({**plain, **moments, **told})


def _type(pa: Any, sorts: set[type]) -> Any:
    """Text where any value is one; a whole number where all are."""
    if str in sorts:
        return pa.string()
    known = sorts - {type(None)}
    if known == {bool}:
        return pa.bool_()
    return pa.int64() if known and known <= {int, bool} else pa.float64()


def _table(pa: Any, schema: Any, cells: _Cells, rows: list[Document]) -> Any:
    """Each value becomes what its column holds: arrow takes no number for a text, nor one that a float cuts short."""
    made: list[list[Any]] = [[None] * len(rows) for _ in schema]
    kinds = [_KINDS[str(kind)] for kind in schema.types]
    for number, row in enumerate(rows):
        for place, value in cells.of(row):
            made[place][number] = None if value is None else kinds[place](value)
    arrays = [pa.array(values, kind) for values, kind in zip(made, schema.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


_KINDS: dict[str, Callable[[Any], Any]] = {
    "string": str,
    "int64": int,
    "double": float,
    "bool": bool,
    "timestamp[us, tz=UTC]": datetime.fromisoformat,
}
"""The conversion of a value, by the name of the arrow type."""


class _Sink(io.RawIOBase):
    """What pyarrow writes to, emptied again and again."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._at = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._parts.append(piece)
        self._at += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._at

    def taken(self) -> bytes:
        made, self._parts = b"".join(self._parts), []
        return made
