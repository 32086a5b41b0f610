"""What an attack found, against what is promised: a table for people, a JSON row for files, an exit status."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn


@dataclass(frozen=True)
class Verdict:
    """One promise: `found` and `promised` are words for people, `kept` is the judgement."""

    what: str
    found: str
    promised: str
    kept: bool


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as their widest cell."""
    cells = [list(map(str, row)) for row in (heads, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def append_row(file: Path | None, row: Mapping[str, Any]) -> None:
    """One JSON object per line; printed where no file is named."""
    line = json.dumps({**row, "at": datetime.now(UTC).isoformat(timespec="seconds")}, default=str)
    if file is None:
        print(line, flush=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as out:
        out.write(line + "\n")


def conclude(attack: str, verdicts: Sequence[Verdict], figures: Mapping[str, Any], out: Path | None) -> NoReturn:
    """Print the verdicts, write the row, end with status 1 where a promise was not kept."""
    rows = [("kept" if v.kept else "BROKEN", v.what, v.found, v.promised) for v in verdicts]
    print(table(("verdict", "what", "found", "promised"), rows), flush=True)
    append_row(out, {"attack": attack, **figures, "verdicts": [asdict(v) for v in verdicts]})
    sys.exit(0 if all(v.kept for v in verdicts) else 1)
