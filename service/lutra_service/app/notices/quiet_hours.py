"""The hours in which a receiver gets only urgent notices, by the local time of its time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time

from lutra_models.maintenance import known_zone


@dataclass(frozen=True)
class QuietHours:
    """From `start` to `end` ("HH:MM") each day, over midnight if the end is earlier.

    Raises ValueError for an invalid time, for two equal times, and for a time zone that this machine does not know.
    """

    start: str
    end: str
    zone: str = "UTC"

    def __post_init__(self) -> None:
        if time.fromisoformat(self.start) == time.fromisoformat(self.end):
            raise ValueError(f"the start and the end of quiet hours must differ, got {self.start} for both")
        if known_zone(self.zone) is None:
            raise ValueError(f"zone must be a time zone such as Europe/Berlin, got {self.zone!r}")

    def hold(self, now: datetime) -> bool:
        """Whether `now` is within them. When clocks are set forward or back, the local time counts."""
        start, end = time.fromisoformat(self.start), time.fromisoformat(self.end)
        shown = now.astimezone(known_zone(self.zone)).time()
        return start <= shown < end if start < end else shown >= start or shown < end
