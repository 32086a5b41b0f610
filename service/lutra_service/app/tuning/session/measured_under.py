"""The loads under which a configuration was measured, in words: a gain at 16 clients may not exist at 64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.store import UnitOfWork

LONGEST = 1000


COUNTS = ("clients", "threads")
"""Keys of a driver's context with the number of clients; the first one present counts."""
OF_LOADS = "p99_of."
"""The prefix of each load's names in a window's context."""


def sentence(unit: UnitOfWork, handed_over: Recommendation) -> str | None:
    """The loads of all windows that recommendations of exactly these settings got on this database; None without a
    driver.
    """
    ids = unit.recommendations.measured_alike(handed_over.database_id, handed_over.configuration)
    reports = [report for id_ in ids for report in unit.reports.of_recommendation(id_)]
    loads = [report.context for report in reports if report.window_end is not None and report.context]
    if not loads:
        return None
    counted = any(name.partition(".")[0] in COUNTS for context in loads for name in context)
    others = "at other numbers of clients" if counted else "under other loads"
    words = ", and ".join(dict.fromkeys(map(_load, loads)))
    return f"measured {words}; it was not measured {others}"[:LONGEST]


def _load(context: Mapping[str, Any]) -> str:
    """As in `at 16 clients of tpcb-like`, or `under few (at 16 clients) and many (at 64 clients)`."""
    names = [key.removeprefix(OF_LOADS) for key in context if key.startswith(OF_LOADS)]
    if not names:
        return _clients(context)
    parts = {x: {k.removesuffix(f".{x}"): v for k, v in context.items() if k.endswith(f".{x}")} for x in names}
    return f"under {' and '.join(f'{x} ({_clients(part)})' for x, part in parts.items())}"


def _clients(context: Mapping[str, Any]) -> str:
    count = next((context[name] for name in COUNTS if name in context), None)
    work = context.get("script", context.get("command"))
    if count is None:
        return f"under the load of {work or context.get('driver', 'its driver')}"
    rate = context.get("rate")
    shown = f"{rate:g}" if isinstance(rate, int | float) else rate
    return f"at {count} clients{f' of {work}' if work else ''}{f', {shown} per second' if rate else ''}"
