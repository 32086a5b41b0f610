"""How people write how long something takes."""

from __future__ import annotations

import re
from datetime import timedelta

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def duration(text: str) -> timedelta:
    """Such as 90d, 12h, 30m or 45s. Raises ValueError."""
    found = re.fullmatch(r"(\d{1,6})([smhd])", text, re.ASCII)
    if found is None:
        raise ValueError(f"{text!r} is no duration: write 90d, 12h, 30m or 45s")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})
