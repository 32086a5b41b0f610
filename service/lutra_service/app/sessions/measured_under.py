"""Under which loads a configuration was measured, in words: what holds at 16 clients need not hold at 64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lutra_service.db.schema.records import Recommendation
from lutra_service.db.store import UnitOfWork

LONGEST = 1000


def sentence(unit: UnitOfWork, handed_over: Recommendation) -> str | None:
    """Of every window that any recommendation of these very settings got on this database; None without a driver."""
    ids = unit.recommendations.measured_alike(handed_over.database_id, handed_over.configuration or {})
    reports = [report for id_ in ids for report in unit.reports.of_recommendation(id_)]
    told = list(dict.fromkeys(_load(r.context) for r in reports if r.window_end is not None and "driver" in r.context))
    if not told:
        return None
    counted = any(key.partition(".")[0] in COUNTS for r in reports for key in r.context)
    others = "at other numbers of clients" if counted else "under other loads"
    return f"measured {', and '.join(told)}; {others} it was not measured"[:LONGEST]


COUNTS = ("clients", "threads")
"""Where a driver's context says how many clients there are; the first that it has."""


def _load(context: Mapping[str, Any]) -> str:
    """As in `at 16 clients of tpcb-like`, or `under few (at 16 clients) and many (at 64 clients)`."""
    loads = [key.partition(".")[2] for key in context if key.startswith("driver.")]
    if not loads:
        return _clients(context)
    parts = {x: {k.removesuffix(f".{x}"): v for k, v in context.items() if k.endswith(f".{x}")} for x in loads}
    return f"under {' and '.join(f'{x} ({_clients(part)})' for x, part in parts.items())}"


def _clients(context: Mapping[str, Any]) -> str:
    count = next((context[name] for name in COUNTS if name in context), None)
    work = context.get("script", context.get("command"))
    if count is None:
        return f"under the load of {work or context['driver']}"
    rate = f", {context['rate']:g} a second" if context.get("rate") else ""
    return f"at {count} clients{f' of {work}' if work else ''}{rate}"
