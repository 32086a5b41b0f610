"""Reports that have not reached the service yet, on disk, in order.

One file per report, named by its sequence number, exactly as it will be sent: a report that is sent twice is the same
report. The epoch is a random id made with the folder, so that a reinstalled agent starts a new series.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lutra_models.wire import Receipt

from lutra_agent.errors import ServiceRefused
from lutra_agent.files import make_folder, read_json, remove, write_atomically, write_json

MAX_REPORTS = 20_000
MAX_BYTES = 64 << 20
KEPT_REFUSALS = 100

Send = Callable[[bytes], Receipt]


@dataclass(frozen=True)
class SpoolLimits:
    reports: int = MAX_REPORTS
    bytes: int = MAX_BYTES


class Spool:
    """Bounded: when it is full the oldest report is dropped first, and counted."""

    def __init__(self, folder: Path, limits: SpoolLimits | None = None) -> None:
        self._folder = folder
        self._refused = folder / "refused"
        self._state_file = folder / "spool.json"
        self._limits = limits or SpoolLimits()
        make_folder(folder)
        make_folder(self._refused)
        state = read_json(self._state_file) or {}
        self.epoch: str = state.get("epoch") or f"ep_{secrets.token_hex(8)}"
        self.dropped: int = state.get("dropped", 0)
        self.refused: int = state.get("refused", 0)
        waiting = {int(p.name.split(".")[0]): p.stat().st_size for p in folder.glob("*.json.gz")}
        self._waiting = dict(sorted(waiting.items()))
        self._next: int = max([state.get("next", 0), *(s + 1 for s in self._waiting)])
        self._save()

    def __len__(self) -> int:
        return len(self._waiting)

    def append(self, make: Callable[[int], bytes]) -> int:
        """Store `make(sequence)` under the next sequence number, durably, and give that number.

        The number is used up before the report is written: a crash in between leaves a gap, never a number used twice.
        """
        sequence = self._next
        self._next += 1
        self._save()
        content = make(sequence)
        write_atomically(self._file(sequence), content)
        self._waiting[sequence] = len(content)
        self._shrink()
        return sequence

    def drain(self, send: Send) -> Receipt | None:
        """Send what waits, oldest first, and give the answer to the newest; None where nothing was accepted.

        A report that `send` refuses for good is moved aside and the next is sent, as it is after one that somebody
        deleted. ServiceUnavailable passes through: what was not sent stays.
        """
        receipt = None
        for sequence in list(self._waiting):
            try:
                content = self._file(sequence).read_bytes()
            except FileNotFoundError:
                self._drop(sequence)
                continue
            try:
                receipt = send(content)
            except ServiceRefused:
                self._put_aside(sequence)
            else:
                remove(self._file(sequence))
                del self._waiting[sequence]
        return receipt

    def _put_aside(self, sequence: int) -> None:
        self._file(sequence).replace(self._refused / self._file(sequence).name)
        del self._waiting[sequence]
        self.refused += 1
        for old in sorted(self._refused.glob("*.json.gz"))[:-KEPT_REFUSALS]:
            old.unlink()
        self._save()

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
        return self._folder / f"{sequence:020d}.json.gz"

    def _save(self) -> None:
        state = {"epoch": self.epoch, "next": self._next, "dropped": self.dropped, "refused": self.refused}
        write_json(self._state_file, state)
