"""A Parquet file with a row per configuration. Like its export, it needs pyarrow."""

from __future__ import annotations

from pathlib import Path

from lutra_service.app.observations.tables import arrow
from lutra_service.app.workloads.imports.raw import MOST_BYTES, Broken, Cell, Place, RawRow, as_text


def read(file: Path) -> list[RawRow]:
    """In an error's place, the line is the number of the row, and the column that of the column.

    Raises Broken, and InvalidRequest if pyarrow is not installed.
    """
    pa = arrow()
    try:
        with pa.parquet.ParquetFile(file) as opened:
            groups = (opened.metadata.row_group(n) for n in range(opened.metadata.num_row_groups))
            if sum(group.total_byte_size for group in groups) > MOST_BYTES:
                raise Broken(f"{file}: more than {MOST_BYTES >> 20} MiB; take fewer rows, or fewer columns")
            table = opened.read()
    except (pa.ArrowException, OSError) as error:
        raise Broken(f"{file}: this is not a Parquet file: {error}") from error
    titles = {title: Place(str(file), 1, n) for n, title in enumerate(table.column_names, 1)}
    if len(titles) < len(table.column_names):
        raise Broken(f"{file}: two columns have the same name")
    return [
        RawRow(
            {
                title: Cell(as_text(value), Place(str(file), number, titles[title].column))
                for title, value in row.items()
                if value is not None
            },
            Place(str(file), number, 1),
            titles=titles,
        )
        for number, row in enumerate(table.to_pylist(), 1)
    ]
