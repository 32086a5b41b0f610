"""What the file systems of the server's data, its log and its tablespaces still have room for.

Of a folder that this account may not look into, nothing is told. What is free is what an ordinary account may write.
"""

from __future__ import annotations

import os
from pathlib import Path

from lutra_agent.engines.common.telemetry import Reading

MOST_TABLESPACES = 100


class Room:
    """Remembers how much was used at the sample before, for how fast it grows."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[float, float]] = {}

    def reading(self, data_dir: Path, now_s: float) -> Reading:
        """Gauges in bytes: of data and log what is free, of how much, and what each second takes or gives back; of the
        tablespaces the fullest one's room.

        Where this account may not look into the log's folder, it is taken to lie beside the data.
        """
        found: dict[str, float] = {}
        data = _space(data_dir)
        for name, space in (("data", data), ("log", _space(data_dir / "pg_wal") or data)):
            if space is not None:
                found |= {f"{name}_free_bytes": space[0], f"{name}_bytes": space[1]}
                found |= self._growth(name, space[1] - space[0], now_s)
        spaces = [s for folder in _tablespaces(data_dir / "pg_tblspc") if (s := _space(folder)) is not None]
        if spaces:
            free, total = min(spaces, key=lambda space: space[0] / space[1])
            found |= {"tablespace_free_bytes": free, "tablespace_bytes": total}
        return Reading(gauges=found)

    def _growth(self, name: str, used: float, now_s: float) -> dict[str, float]:
        before, self._before[name] = self._before.get(name), (used, now_s)
        if before is None or now_s <= before[1]:
            return {}
        rate = (used - before[0]) / (now_s - before[1])
        return {f"{name}_filled_bytes_per_second": max(rate, 0.0), f"{name}_freed_bytes_per_second": max(-rate, 0.0)}


def _space(folder: Path) -> tuple[float, float] | None:
    """What is free, and with what is used, all that there is."""
    try:
        s = os.statvfs(folder)
    except OSError:
        return None
    free = s.f_bavail * s.f_frsize
    total = free + (s.f_blocks - s.f_bfree) * s.f_frsize
    return (float(free), float(total)) if total > 0 else None


def _tablespaces(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())[:MOST_TABLESPACES]
    except OSError:
        return []
