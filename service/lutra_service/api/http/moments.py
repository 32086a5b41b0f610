"""Moments that a caller names."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime

EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


def _in_range(moment: datetime) -> datetime:
    try:
        utc = moment.astimezone(UTC)
    except OverflowError:
        utc = datetime.max.replace(tzinfo=UTC)
    if not EARLIEST <= utc < LATEST:
        raise ValueError(f"a moment lies between {EARLIEST.year} and {LATEST.year}")
    return utc


Moment = Annotated[AwareDatetime, AfterValidator(_in_range)]
"""RFC 3339 with an offset, as UTC: one that every store and every calendar can hold."""
