"""Times in requests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator

EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


def _in_range(moment: datetime) -> datetime:
    try:
        utc = moment.astimezone(UTC)
    except OverflowError:
        utc = datetime.max.replace(tzinfo=UTC)
    if not EARLIEST <= utc < LATEST:
        raise ValueError(f"a moment lies between {EARLIEST.year} and {LATEST.year}")
    return utc


def _in_utc(moment: Any) -> Any:
    """A date, or a moment without an offset, as `lutra export` takes them: in UTC."""
    if not isinstance(moment, str):
        return moment
    try:
        found = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    return found if found.tzinfo else found.replace(tzinfo=UTC)


Moment = Annotated[AwareDatetime, AfterValidator(_in_range), BeforeValidator(_in_utc)]
"""An RFC 3339 time or a date, as UTC, within the range of every store and calendar. Without an offset it is in UTC."""
