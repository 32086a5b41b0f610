"""The possible objectives of a database: metrics that are measured there, under loads that its agent makes."""

from __future__ import annotations

from collections.abc import Iterator

from lutra_models.aims import PER_LOAD, Aim, under
from lutra_models.catalog import did_you_mean
from lutra_models.history import TuningSession
from lutra_models.metrics import P99, QPS, TPS

from lutra_service.app.errors import InvalidRequest
from lutra_service.db.schema.records import Database
from lutra_service.db.store import UnitOfWork

ALWAYS = frozenset(m.name for m in (P99, QPS, TPS))
"""The metrics for which a database without windows may be tuned: every load generator measures them."""

SAY_SO = 3
"""The number of active windows that show whether a metric is measured at all."""
LATEST = 20


def known_metrics(unit: UnitOfWork, database_id: str) -> frozenset[str]:
    """The names in the latest windows, and those that are always known."""
    return ALWAYS.union(*(window.metrics for window in unit.reports.windows(database_id, LATEST)))


def unmeasured(unit: UnitOfWork, database: Database, asked: TuningSession) -> frozenset[str]:
    """The metrics of every load generator that are not measured on a live database. An idle database shows none."""
    if asked.mode == "lab":
        return frozenset()
    windows = [w.metrics for w in unit.reports.windows(database.id, LATEST) if w.metrics]
    busy = [m for m in windows if m.get(QPS.name) != 0]
    if len(busy) < SAY_SO:
        return frozenset()
    return ALWAYS - frozenset(name for m in windows for name in m)


def require_known(unit: UnitOfWork, database: Database, asked: TuningSession) -> None:
    """Raises InvalidRequest if the session's objective is not measured or has the wrong direction, or if no driver
    makes its load.

    The usual metrics may be an objective even if they have no readings yet: recommendations from findings do not need
    them, and the session gives the reason. A limit without readings could not be enforced.
    """
    if (wrong := asked.objective.refusal) is not None:
        raise InvalidRequest(f"objective.goal: {wrong}")
    if (missing := missing_load(database, asked.aim)) is not None:
        raise InvalidRequest(missing)
    if asked.aim is not None:
        _require_plain_limits(asked, asked.aim)
    wanted, always = dict(_wanted(asked)), ALWAYS.union(_under_loads(asked.aim))
    limits = {limit.metric for limit in asked.limits}
    nowhere = unmeasured(unit, database, asked) & limits if limits & ALWAYS else frozenset[str]()
    if always.issuperset(wanted.values()) and not nowhere:
        return
    always -= {n for n in nowhere if n != asked.objective.metric}
    known = (known_metrics(unit, database.id) - nowhere) | always
    unknown = [
        f"{place}: {name!r} is not measured on {database.id}{did_you_mean(name, known)}"
        for place, name in wanted.items()
        if name not in known or (name in nowhere and place.startswith("limits"))
    ]
    if unknown:
        why = _way_out(database) if nowhere.intersection(wanted.values()) else ""
        raise InvalidRequest(f"{'; '.join(unknown)}{why}; measured there: {_told(known)}")


def _told(known: frozenset[str]) -> str:
    """The metrics that a session is usually about; the others by their number alone."""
    usual = sorted(name for name in known if "." not in name)
    others = len(known) - len(usual)
    return ", ".join(usual) + (f" and {others} others, which GET …/windows shows" if others else "")


def _way_out(database: Database) -> str:
    """What its agent says is missing, and where to read the rest."""
    problems = "; ".join((database.agent_status or {}).get("problems", ()))
    said = f"; its agent says: {problems}" if problems else ""
    return f"{said}; `lutra-agent check` on its host prints which metrics it can measure, and how to get the others"


def missing_load(database: Database, aim: Aim | None) -> str | None:
    """The message if the agent does not make a load of the aim. Its loads are unknown before its first report."""
    if aim is None or database.agent_status is None:
        return None
    missing = next((load for load in aim.loads if load not in database.agent.loads), None)
    if missing is None:
        return None
    known = ", ".join(database.agent.loads) or "none"
    return f"loads: the agent of {database.id} has no load {missing!r}; its file has {known}"


def _under_loads(aim: Aim | None) -> Iterator[str]:
    if aim is not None:
        yield from (under(metric, load) for metric in PER_LOAD for load in aim.loads)


def _require_plain_limits(asked: TuningSession, aim: Aim) -> None:
    """A load generator's own figures are measured under each load by itself, and have its name."""
    for i, limit in enumerate(asked.limits):
        if limit.metric not in PER_LOAD and "." not in limit.metric:
            names = ", ".join(under(limit.metric, load) for load in aim.loads)
            raise InvalidRequest(f"limits.{i}.metric: {limit.metric!r} is measured under each load: name {names}")


def _wanted(asked: TuningSession) -> Iterator[tuple[str, str]]:
    metric = asked.objective.metric
    if asked.aim is None:
        yield "objective.metric", metric
    else:
        yield from ((f"objective.metric under {load}", under(metric, load)) for load in asked.aim.loads)
    yield from ((f"limits.{i}.metric", limit.metric) for i, limit in enumerate(asked.limits))
