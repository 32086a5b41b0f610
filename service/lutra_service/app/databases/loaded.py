"""Stored windows, with the load by which they are compared."""

from __future__ import annotations

from collections.abc import Iterable

from lutra_models.judgement import LoadedWindow

from lutra_service.db.schema.records import StoredReport


def loaded(reports: Iterable[StoredReport], group: str | None = None) -> list[LoadedWindow]:
    """The windows that have a time. Without a `group`, windows under the same settings belong to one."""
    found = ((r, r.window_start, r.window_end) for r in reports)
    return [
        LoadedWindow(
            start.timestamp(), (end - start).total_seconds(), r.metrics, r.context, group or r.settings_hash or ""
        )
        for r, start, end in found
        if start is not None and end is not None
    ]
