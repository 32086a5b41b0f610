"""The hourly load of a database: its rate and its p99, kept longer than the windows and read in place of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from lutra_service.common.limits import LOAD_HOURS
from lutra_service.db.schema.records import LoadHour, Reading
from lutra_service.db.store import UnitOfWork

AT_ONCE = 2000
"""The most windows that one look adds."""
Key = tuple[datetime, str]


def add_new(unit: UnitOfWork, database_id: str) -> None:
    """Add the windows that arrived since the previous call to their hours. The caller holds the database's row."""
    found = unit.reports.readings(database_id, unit.load_hours.newest(database_id), AT_ONCE)
    fresh: dict[Key, list[Reading]] = {}
    for reading in found:
        fresh.setdefault((_hour(reading, unit.now), _p99_of(reading)), []).append(reading)
    hours = sorted({hour for hour, _ in fresh})
    known = {(h.hour, h.p99_of): h for h in unit.load_hours.of(database_id, hours)} if hours else {}
    for key, readings in fresh.items():
        _add(unit, database_id, key, known.get(key), readings)


def _hour(reading: Reading, now: datetime) -> datetime:
    """Its hour by the agent's clock, which may be wrong: within the time for which hours are kept."""
    end = min(max(reading.window_end, now - LOAD_HOURS), now)
    return end.replace(minute=0, second=0, microsecond=0)


def _p99_of(reading: Reading) -> str:
    if reading.p99_ms is None or reading.p99_source is None:
        return ""
    return f"{reading.p99_source} of {reading.p99_of}"


def _add(unit: UnitOfWork, database_id: str, key: Key, before: LoadHour | None, found: Sequence[Reading]) -> None:
    made = before or LoadHour(unit.new_id("lh"), database_id, *key, windows=0, newest=0)
    for reading in found:
        share = reading.windows / (made.windows + reading.windows)
        made = replace(
            made,
            windows=made.windows + reading.windows,
            newest=reading.id,
            qps=_mean(made.qps, reading.qps, share),
            tps=_mean(made.tps, reading.tps, share),
            p99_ms=_mean(made.p99_ms, reading.p99_ms, share),
        )
    if before is None:
        unit.load_hours.add(made)
    else:
        values = {"windows": made.windows, "newest": made.newest}
        unit.load_hours.change(made.id, **values, qps=made.qps, tps=made.tps, p99_ms=made.p99_ms)


def _mean(before: float | None, one: float | None, share: float) -> float | None:
    """The mean with one more value, of this share; a value that is not known changes nothing."""
    if before is None or one is None:
        return one if before is None else before
    return before + (one - before) * share
