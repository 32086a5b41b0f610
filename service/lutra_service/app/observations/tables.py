"""Observations as tables, written as they are read: CSV, and Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Literal

from lutra_service.app.errors import InvalidRequest
from lutra_service.app.observations.selected import Columns, Observations
from lutra_service.common.cells import harmless
from lutra_service.common.documents import Document

Format = Literal["jsonl", "csv", "parquet"]
HEAD = (
    *("id", "database", "engine", "session", "recommendation", "start", "end", "received_at", "windows", "failure"),
    *("p99_source", "p99_of"),
)
MOMENTS = ("start", "end", "received_at")
GROUP = 2_000
"""Rows of a Parquet file that are written together."""


def encoded(found: Observations, wanted: Format) -> Iterator[bytes]:
    """The bytes of a file. Raises InvalidRequest for Parquet where pyarrow is not installed."""
    makes: dict[Format, Callable[[Observations], Iterator[bytes]]] = {"jsonl": _lines, "csv": _csv, "parquet": _parquet}
    if wanted == "parquet":
        arrow()
    return makes[wanted](found)


def arrow() -> Any:
    """pyarrow with its Parquet module. Raises InvalidRequest where it is not installed."""
    try:
        importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise InvalidRequest(
            "format: parquet needs pyarrow beside the service, pip install 'lutra-service[parquet]'; "
            "jsonl and csv are always there"
        ) from error
    return importlib.import_module("pyarrow")


def _lines(found: Observations) -> Iterator[bytes]:
    return found.lines()


def _csv(found: Observations) -> Iterator[bytes]:
    columns = list(found.columns().named())
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([*HEAD, *(harmless(title) for title, *_ in columns)])
    for batch in found.documents():
        for row in batch:
            cells = [*(row[n] for n in HEAD), *(row[part].get(name) for _, part, name, _ in columns)]
            writer.writerow(["" if cell is None else harmless(cell) for cell in cells])
        yield _taken(out)
    yield _taken(out)


def _taken(out: io.StringIO) -> bytes:
    text = out.getvalue()
    out.seek(0)
    out.truncate()
    return text.encode()


def _parquet(found: Observations) -> Iterator[bytes]:
    pa, sink = arrow(), _Sink()
    columns = found.columns()
    schema = _schema(pa, columns)
    with pa.parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        rows: list[Document] = []
        for batch in found.documents():
            rows += batch
            if len(rows) >= GROUP:
                writer.write_table(_table(pa, schema, columns, rows))
                rows = []
                yield sink.taken()
        if rows:
            writer.write_table(_table(pa, schema, columns, rows))
    yield sink.taken()


def _schema(pa: Any, columns: Columns) -> Any:
    plain = {**dict.fromkeys(HEAD, pa.string()), "windows": pa.int64()}
    moments = dict.fromkeys(MOMENTS, pa.timestamp("us", "UTC"))
    told = {title: _type(pa, sorts) for title, _, _, sorts in columns.named()}
    return pa.schema({**plain, **moments, **told})


def _type(pa: Any, sorts: set[type]) -> Any:
    """Text where any value is one; a whole number where all are."""
    return pa.string() if str in sorts else pa.int64() if sorts == {int} else pa.float64()


def _table(pa: Any, schema: Any, columns: Columns, rows: list[Document]) -> Any:
    made = [[row[n] for row in rows] for n in HEAD]
    for place, name in enumerate(HEAD):
        if name in MOMENTS:
            made[place] = [None if t is None else datetime.fromisoformat(t) for t in made[place]]
    for place, (_, part, name, sorts) in enumerate(columns.named(), len(HEAD)):
        values = [row[part].get(name) for row in rows]
        if schema.types[place] == pa.string() and sorts != {str}:
            values = [None if v is None else str(v) for v in values]
        made.append(values)
    arrays = [pa.array(values, kind) for values, kind in zip(made, schema.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


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
