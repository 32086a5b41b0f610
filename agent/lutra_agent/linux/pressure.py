"""The kernel's figures about memory and disks under pressure: /proc/vmstat, and the files of its stall times."""

from __future__ import annotations

import os
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")
COUNTED = {"pswpin": "swap_in_bytes", "pswpout": "swap_out_bytes"}
HELD = {
    "nr_dirty": "dirty_bytes",
    "nr_writeback": "dirty_bytes",
    "nr_page_table_pages": "page_tables_bytes",
}
STALLS = {"cpu": "cpu_waiting_s", "io": "io_waiting_s", "memory": "memory_waiting_s"}
STOPPED = {"io": "io_stopped_s", "memory": "memory_stopped_s"}


def counters(root: Path) -> dict[str, float]:
    """Bytes that went to swap and came back, and the seconds in which some process waited for a processor, for a disk
    or for memory; and those in which all that had work did.
    """
    found = dict[str, float]()
    for names, told in ((STALLS, some), (STOPPED, full)):
        for file, name in names.items():
            if (total := told(root / "proc/pressure" / file)) is not None:
                found[name] = total
    return {**_summed(root, COUNTED), **found}


def gauges(root: Path) -> dict[str, float]:
    """Bytes that wait to be written or are being written, and those of page tables."""
    return _summed(root, HELD)


def _summed(root: Path, names: dict[str, str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for line in _text(root / "proc/vmstat").splitlines():
        name, _, pages = line.partition(" ")
        if name in names and pages.isdigit():
            found[names[name]] = found.get(names[name], 0.0) + int(pages) * PAGE
    return found


def some(file: Path) -> float | None:
    """Seconds, of `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234` in microseconds."""
    return _stalled(file, "some")


def full(file: Path) -> float | None:
    return _stalled(file, "full")


def _stalled(file: Path, kind: str) -> float | None:
    for line in _text(file).splitlines():
        who, _, rest = line.partition(" ")
        total = rest.rpartition("total=")[2]
        if who == kind and total.isdigit():
            return int(total) / 1e6
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # also where the kernel was started without it
        return ""
