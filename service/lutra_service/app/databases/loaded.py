"""Stored windows as what they are compared by: their load, and how busy their host was with something else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lutra_models.judgement import LoadedWindow, busy_among

from lutra_service.db.schema.records import StoredReport
from lutra_service.db.store import UnitOfWork

BESIDE = 60
"""The windows before one, at most, that say what is usual on its host."""


def loaded(reports: Iterable[StoredReport], group: str | None = None) -> list[LoadedWindow]:
    """Those that have a time. Without a `group` those under the same settings are of one."""
    found = ((r, r.window_start, r.window_end) for r in reports)
    return [
        LoadedWindow(
            start.timestamp(), (end - start).total_seconds(), r.metrics, r.context, group or r.settings_hash or ""
        )
        for r, start, end in found
        if start is not None and end is not None
    ]


def busy(unit: UnitOfWork, database_id: str, newest_first: Sequence[StoredReport]) -> list[float]:
    """For each of the windows the share of its processor time that something else on the host took, beyond what is
    usual in the windows before it; 0 where none did, and where the host shows nothing.
    """
    if not newest_first:
        return []
    read = [*newest_first, *unit.reports.windows(database_id, BESIDE, after=newest_first[-1].id)]
    windows = loaded(read)
    return [busy_among(windows[i], windows[i : i + BESIDE + 1]) for i in range(len(newest_first))]
