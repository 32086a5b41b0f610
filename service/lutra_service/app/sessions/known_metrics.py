"""Which metrics a database can be tuned for: those that are measured there."""

from __future__ import annotations

from collections.abc import Iterator

from lutra_models.catalog import did_you_mean
from lutra_models.history import TuningSession
from lutra_models.metrics import P99, QPS, TPS

from lutra_service.app.errors import InvalidRequest
from lutra_service.db.schema.records import Database
from lutra_service.db.store import UnitOfWork

ALWAYS = frozenset(m.name for m in (P99, QPS, TPS))
"""A database that has no window yet may be tuned for these: every load generator measures them."""

LATEST = 20
SHOWN = 100


def known_metrics(unit: UnitOfWork, database_id: str) -> frozenset[str]:
    """The names in the latest windows, and those that are always known."""
    return ALWAYS.union(*(window.metrics for window in unit.reports.windows(database_id, LATEST)))


def require_known(unit: UnitOfWork, database: Database, asked: TuningSession) -> None:
    """Raises InvalidRequest where the session is about a metric that nothing measures."""
    wanted = dict(_wanted(asked))
    if ALWAYS.issuperset(wanted.values()):
        return
    known = known_metrics(unit, database.id)
    unknown = [
        f"{place}: {name!r} is not measured on {database.id}{did_you_mean(name, known)}"
        for place, name in wanted.items()
        if name not in known
    ]
    if unknown:
        shown = sorted(known)[:SHOWN]
        raise InvalidRequest(f"{'; '.join(unknown)}; measured there: {', '.join(shown)}")


def _wanted(asked: TuningSession) -> Iterator[tuple[str, str]]:
    yield "objective.metric", asked.objective.metric
    yield from ((f"limits.{i}.metric", limit.metric) for i, limit in enumerate(asked.limits))
