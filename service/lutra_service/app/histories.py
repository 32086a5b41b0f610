"""From stored reports to the history that one recommendation sees."""

from __future__ import annotations

from collections import Counter

from lutra_models.history import History, Observation, Window
from lutra_models.knobs import Configuration, KnobSpace, Value
from lutra_models.metrics import Limit, Objective

from lutra_service.app import known
from lutra_service.app.live import Live
from lutra_service.db.records import Session, StoredReport
from lutra_service.db.store import Unit

WINDOWS_PER_CONFIGURATION = 20
"""Of one configuration's many windows the newest few say what there is to say."""


def history(unit: Unit, live: Live, session: Session) -> History:
    """What `recommend` sees of `session`."""
    space = live.space
    return History(
        space,
        objective(session),
        limits=limits(session),
        observations=observations(unit, session, space),
        current=live.active,
        starts=_starts(unit, live, session),
        context=context(live),
        answers=_answers(unit, session),
    )


def _answers(unit: Unit, session: Session) -> dict[str, list[tuple[Value, Value]]]:
    """What was asked for in this session and became something else on the server."""
    found: dict[str, list[tuple[Value, Value]]] = {}
    for row in known.since_rebase(session, unit.recommendations.outlined(session.id)):
        made = (row.outcome or {}).get("active", {}) if row.state in ("applied", "confirmed") else {}
        for name, asked in (row.configuration or {}).items():
            if name in made and made[name] != asked:
                found.setdefault(name, []).append((asked, made[name]))
    return found


def _starts(unit: Unit, live: Live, session: Session) -> list[Configuration]:
    """The rule-based configuration, once a session: not after it was tried, nor after an operator turned it down."""
    rule_based = live.active.replace(live.catalog.rule_based(live.server, live.policy))
    for row in known.since_rebase(session, unit.recommendations.outlined(session.id)):
        tried = row.origin == "rule_based" and known.counts(row)
        same = Configuration(row.configuration or {}) == rule_based.restrict(live.space.names)
        if tried or (same and row.state == "rejected" and row.decided_by is not None):
            return []
    return [rule_based]


def objective(session: Session) -> Objective:
    return Objective(session.objective_metric, session.objective_goal)  # type: ignore[arg-type]


def limits(session: Session) -> tuple[Limit, ...]:
    return tuple(Limit(**limit) for limit in session.limits)


def context(live: Live) -> dict[str, str | int | float]:
    host = live.server.host
    reported = live.database.context or {}
    return {
        "engine": live.server.engine,
        "engine_version": live.server.version,
        "memory_bytes": host.memory_bytes,
        "cores": host.cores,
        **reported,
    }


def observations(unit: Unit, session: Session, space: KnobSpace) -> list[Observation]:
    """Oldest first. A lab session learns from its trials alone: between them nobody makes the load."""
    lab = session.mode == "lab"
    reports = unit.reports.of_session(session.id, WINDOWS_PER_CONFIGURATION, session.rebased_at, trials_only=lab)
    read = [o for r in reports if (o := observation(r, session, space)) is not None]
    return read if lab else _newest(read)


def observation(report: StoredReport, session: Session, space: KnobSpace) -> Observation | None:
    """A report as an observation; None where it says nothing of a configuration over this space."""
    if report.configuration is None or any(name not in report.configuration for name in space.names):
        return None
    configuration, context = Configuration(report.configuration).restrict(space.names), report.context or None
    if report.failure is not None:
        return Observation.failed(configuration, report.failure, context=context)
    metrics = targets_of(report, session)
    if not metrics or report.window_start is None or report.window_end is None:
        return None
    window = Window(report.window_start, report.window_end)
    return Observation(configuration, metrics, context=context, window=window)


def targets_of(report: StoredReport, session: Session | None) -> dict[str, float]:
    """The metrics that count: a p99 from another source than the session's is a missing one."""
    metrics = dict(report.metrics)
    if session and session.p99_source and (report.p99_source, report.p99_of) != (session.p99_source, session.p99_of):
        metrics.pop("p99_ms", None)
    return metrics


def _newest(read: list[Observation]) -> list[Observation]:
    """Of each configuration under each load the newest windows, oldest first."""
    kept: list[Observation] = []
    counts: Counter[tuple[Configuration, Configuration]] = Counter()
    for one in reversed(read):
        alike = one.configuration, Configuration(one.context or {})
        counts[alike] += 1
        if counts[alike] <= WINDOWS_PER_CONFIGURATION:
            kept.append(one)
    return kept[::-1]
