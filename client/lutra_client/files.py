"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole(file: str | Path) -> Iterator[BinaryIO]:
    """Writes beside `file` and takes its place at the end; whatever goes wrong before leaves `file` as it was."""
    place = Path(file)
    beside = place.with_name(f"{place.name}.{os.getpid()}.part")
    try:
        with beside.open("xb") as out:
            yield out
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)
