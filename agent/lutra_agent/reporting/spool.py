"""Reports that have not reached the service yet, on disk, in order.

One file per report, named by its sequence number, exactly as it will be sent: a report that is sent twice is the same
report. The epoch is a random id made with the folder, so that a reinstalled agent starts a new series.

The loop appends and the link to the service sends: each call below is one step under a lock, and none of them waits for
the network.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lutra_agent.files.atomic import make_folder, read_json, remove, write_atomically, write_json

MAX_REPORTS = 20_000
MAX_BYTES = 64 << 20
KEPT_ASIDE = 100
REPORTS = "*.json.gz"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SpoolLimits:
    reports: int = MAX_REPORTS
    bytes: int = MAX_BYTES


class Spool:
    """Bounded: when it is full the oldest report is dropped first, and counted.

    `refused` counts reports that the service will never accept; `held` are those on which it fails. Both are in
    separate folders, the newest KEPT_ASIDE of each. A folder that cannot be written now, for example because the disk
    is full, is tried again with each report.
    """

    def __init__(self, folder: Path, limits: SpoolLimits | None = None) -> None:
        self._folder = folder
        self._refused, self._held = folder / "refused", folder / "held"
        self._state_file = folder / "spool.json"
        self._limits = limits or SpoolLimits()
        self._lock = threading.RLock()
        self._closed = False
        state = read_json(self._state_file) or {}
        self.epoch: str = state.get("epoch") or f"ep_{secrets.token_hex(8)}"
        self.dropped: int = state.get("dropped", 0)
        self.refused: int = state.get("refused", 0)
        self._waiting = {_sequence(p): p.stat().st_size for p in sorted(folder.glob(REPORTS))}
        self._next: int = max([state.get("next", 0), *(s + 1 for s in (*self._waiting, *self.held()))])
        try:
            self._save()
        except OSError as error:
            log.error(
                "%s cannot be written: %s: no report can be stored; guards and undo continue to work",
                folder,
                error.strerror,
            )

    def __len__(self) -> int:
        with self._lock:
            return len(self._waiting)

    def append(self, make: Callable[[int], bytes]) -> int:
        """Store `make(sequence)` under the next sequence number, durably, and return that number.

        The number is used up before the report is written: a crash in between leaves a gap, never a number used twice.
        """
        with self._lock:
            sequence = self._next
            self._next += 1
            self._save()
            content = make(sequence)
            write_atomically(self._file(sequence), content)
            self._waiting[sequence] = len(content)
            self._shrink()
            return sequence

    def waiting(self, most: int | None = None) -> list[int]:
        """The reports to send, oldest first."""
        with self._lock:
            return list(self._waiting)[:most]

    def held(self) -> list[int]:
        """The reports that were set aside because the service fails on them, oldest first."""
        with self._lock:
            return sorted(map(_sequence, self._held.glob(REPORTS)))

    def read(self, sequence: int) -> bytes | None:
        """A report that waits or is held; None if it is gone: dropped meanwhile, or deleted by somebody."""
        with self._lock:
            for file in (self._file(sequence), _path(self._held, sequence)):
                try:
                    return file.read_bytes()
                except FileNotFoundError:
                    continue
            if sequence in self._waiting:
                self._drop(sequence)
            return None

    def accepted(self, sequence: int) -> None:
        """The service has accepted the report."""
        with self._lock:
            if not self._closed:
                self._waiting.pop(sequence, None)
                remove(self._file(sequence))
                _path(self._held, sequence).unlink(missing_ok=True)

    def refuse(self, sequence: int) -> None:
        """The service will never accept it: it is moved to `refused`."""
        with self._lock:
            if not self._closed and self._put_aside(sequence, self._refused):
                self.refused += 1
                _oldest_removed(self._refused)
                self._save()

    def hold(self, sequence: int) -> None:
        """The service fails on it: it is moved to `held`, so that later ones pass."""
        with self._lock:
            if not self._closed and self._put_aside(sequence, self._held):
                self.dropped += _oldest_removed(self._held)
                self._save()

    def close(self) -> None:
        """Nothing changes from now on, even if another thread is still sending: a report that was not counted as
        accepted is sent again.
        """
        with self._lock:
            self._closed = True

    def _put_aside(self, sequence: int, folder: Path) -> bool:
        self._waiting.pop(sequence, None)
        for file in (self._file(sequence), _path(self._held, sequence)):
            if file.exists():
                file.replace(_path(folder, sequence))
                return True
        return False

    def _shrink(self) -> None:
        total = sum(self._waiting.values())
        while len(self._waiting) > 1 and (len(self._waiting) > self._limits.reports or total > self._limits.bytes):
            oldest = next(iter(self._waiting))
            total -= self._waiting[oldest]
            remove(self._file(oldest))
            self._drop(oldest)

    def _drop(self, sequence: int) -> None:
        del self._waiting[sequence]
        self.dropped += 1
        self._save()

    def _file(self, sequence: int) -> Path:
        return _path(self._folder, sequence)

    def _save(self) -> None:
        for made in (self._folder, self._refused, self._held):
            make_folder(made)
        state = {"epoch": self.epoch, "next": self._next, "dropped": self.dropped, "refused": self.refused}
        write_json(self._state_file, state)


def _path(folder: Path, sequence: int) -> Path:
    return folder / f"{sequence:020d}.json.gz"


def _sequence(file: Path) -> int:
    return int(file.name.split(".")[0])


def _oldest_removed(folder: Path) -> int:
    """How many were removed so that KEPT_ASIDE are left."""
    surplus = sorted(folder.glob(REPORTS))[:-KEPT_ASIDE]
    for file in surplus:
        file.unlink()
    return len(surplus)
