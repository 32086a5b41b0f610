"""The possible objectives of a live database: its rate is the rate of its clients' requests, unless the server is at
its limit.
"""

from __future__ import annotations

from statistics import median

from lutra_models.metrics import P99, QPS, TPS

from lutra_service.db.schema.records import Database, Session, StoredReport
from lutra_service.db.store import UnitOfWork

RATES = (QPS.name, TPS.name)
SATURATED = 0.8
"""The share of the processors, or of the time with a disk access, above which a server may limit the rate."""
LATEST = 20
PROCESSORS = ("host.cpu_user_s_per_s", "host.cpu_system_s_per_s", "host.cpu_iowait_s_per_s", "host.cpu_steal_s_per_s")
"""Seconds of processor time in a second; time that waits for a disk does not count as idle."""


def unserved(unit: UnitOfWork, session: Session) -> str:
    """The message for a session that aims at a higher rate than clients request; empty if it can be served."""
    if session.mode == "lab" or session.objective.metric not in RATES or session.objective.goal != "maximize":
        return ""
    database = unit.databases.get(session.database_id)
    busy = _busy(database, unit.reports.windows(database.id, LATEST))
    if busy is None or busy >= SATURATED:
        return ""
    metric = session.objective.metric
    return (
        f"{metric} is limited by the clients: the server is busy {busy:.0%} of the time, and settings cannot raise the "
        f"requested rate. They can improve {P99.name} at this load: open a session that minimizes it"
    )


def _busy(database: Database, windows: list[StoredReport]) -> float | None:
    """The share of the processors that is not idle, the median of these windows; None if the host says nothing."""
    cores = (database.host or {}).get("cores")
    shares = [
        sum(r.metrics.get(name, 0.0) for name in PROCESSORS) / cores
        for r in windows
        if cores and PROCESSORS[0] in r.metrics
    ]
    return median(shares) if shares else None
