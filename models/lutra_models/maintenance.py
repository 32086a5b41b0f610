"""Maintenance windows: the times at which a server may be restarted. Weekly, in a time zone of their own. Also
durations as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Literal, get_args
from zoneinfo import ZoneInfo

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)

LONGEST_MINUTES = 24 * 60


@dataclass(frozen=True)
class Interval:
    """Half-open, UTC."""

    start: datetime
    end: datetime


@dataclass(frozen=True)
class MaintenanceWindow:
    """On each of `weekdays` from `start` ("HH:MM" in the time zone `zone`) for `minutes`, across midnight if necessary.
    A zone that this machine does not know is not an error: the window then never opens there.
    """

    weekdays: tuple[Weekday, ...]
    start: str
    minutes: int
    zone: str = "UTC"

    def __post_init__(self) -> None:
        if not self.weekdays or not set(self.weekdays) <= set(WEEKDAYS):
            raise ValueError(f"weekdays must be some of {', '.join(WEEKDAYS)}, got {list(self.weekdays)}")
        if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", self.start, re.ASCII):
            raise ValueError(f"start must be a time such as 02:30, got {self.start!r}")
        if not 1 <= self.minutes <= LONGEST_MINUTES:
            raise ValueError(f"minutes must be within [1, {LONGEST_MINUTES}], got {self.minutes}")
        if not re.fullmatch(r"[A-Za-z0-9_+\-/]{1,64}", self.zone, re.ASCII):
            raise ValueError(f"zone must be a name such as Europe/Berlin, got {self.zone!r}")

    def around(self, now: datetime) -> Iterator[Interval]:
        """Its intervals from the day before `now` to a week after it, in order."""
        zone = known_zone(self.zone)
        if zone is None:
            return
        hour, minute = map(int, self.start.split(":"))
        today = now.astimezone(zone).date()
        for offset in range(-2, 9):
            day = today + timedelta(days=offset)
            if WEEKDAYS[day.weekday()] in self.weekdays:
                start = datetime.combine(day, time(hour, minute), zone).astimezone(UTC)
                yield Interval(start, start + timedelta(minutes=self.minutes))


def current(windows: Iterable[MaintenanceWindow], now: datetime) -> Interval | None:
    """The interval that holds `now`, of several the one that ends last."""
    held = [i for w in windows for i in w.around(now) if i.start <= now < i.end]
    return max(held, key=lambda i: i.end, default=None)


def following(windows: Iterable[MaintenanceWindow], now: datetime) -> Interval | None:
    """The next one that has not begun yet; None if there are no windows."""
    return min((i for w in windows for i in w.around(now) if i.start > now), key=lambda i: i.start, default=None)


def closed(windows: Iterable[MaintenanceWindow], now: datetime) -> str | None:
    """The reason why nothing may be restarted at `now`, in words; None if it may."""
    windows = tuple(windows)
    if not windows:
        return "no maintenance window is set"
    if current(windows, now) is not None:
        return None
    upcoming = following(windows, now)
    if upcoming is None:
        return f"this machine has none of the time zones {', '.join(w.zone for w in windows)}"
    return f"the next maintenance window begins at {upcoming.start.isoformat()}"


def known_zone(name: str) -> ZoneInfo | None:
    """None for a zone that this machine does not know."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return None


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def duration(text: str) -> timedelta:
    """Such as 90d, 12h, 30m or 45s. Raises ValueError."""
    found = re.fullmatch(r"(\d{1,6})([smhd])", text, re.ASCII)
    if found is None:
        raise ValueError(f"{text!r} is not a duration: write 90d, 12h, 30m or 45s")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def ago(now: datetime, span: timedelta) -> datetime:
    """The time that long before `now`, but not before 1970."""
    first = datetime(1970, 1, 1, tzinfo=UTC)
    return now - span if span < now - first else first
