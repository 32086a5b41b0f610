"""From stored reports to the history that one recommendation sees."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from lutra_models.evidence import CURABLE, Evidence, TurnedDown
from lutra_models.history import CIRCUMSTANCE, History, Observation, Window
from lutra_models.knobs import Configuration, Knob, KnobSpace, Value
from lutra_models.lifecycle import Origin
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.serial import knob_from_dict

from lutra_service.app.databases.current_server import ServerContext
from lutra_service.app.databases.symptoms import evidence_of
from lutra_service.app.tuning.observe import baseline_windows, observation_progress, verdicts
from lutra_service.app.tuning.record import trial_record
from lutra_service.db.schema.records import Session, StoredReport
from lutra_service.db.store import UnitOfWork

WINDOWS_PER_CONFIGURATION = 20
"""The number of windows of one configuration that are used: the newest few are enough."""


def history(unit: UnitOfWork, at: ServerContext, session: Session) -> History:
    """The recommender's view of `session`.

    A setting that only evidence recommends stays in the space once it was changed: windows from before and after are of
    different configurations.
    """
    evidence = None if at.mode == "lab" else _evidence(unit, at, session)
    rows = [] if evidence is None else unit.recommendations.of_kind(session.id, list(Kind))
    changed = trial_record.changed_from(session, rows)
    space = at.space if evidence is None else at.space_for({*_asked(evidence), *changed})
    covariates, active = _covariates(unit, session), at.active
    if covariates:
        space = KnobSpace([*space, *covariates], space.rules)
        active = Configuration({**{k.name: stays for k, stays in covariates.items()}, **active})
    seen = observations(unit, session, space)
    return History(
        space,
        session.judged,
        limits=session.judged_limits,
        observations=_with_aims(session, seen),
        current=active,
        warm_starts=_starts(unit, at, active, session, seen),
        context=context(at),
        server_rounding=_answers(unit, session),
        baseline=None if session.baseline is None else active.replace({**changed, **session.baseline}),
        aim=session.aim,
        evidence=evidence,
        turned_down=() if evidence is None else _turned_down(unit, session.database_id),
    )


def _covariates(unit: UnitOfWork, session: Session) -> dict[Knob, Value]:
    """What was imported and cannot move here, each with its value in the imported workload; none while it runs."""
    learned = None if session.ended_at is None else unit.workloads.history_of_session(session.id)
    if learned is None:
        return {}
    knobs = map(knob_from_dict, learned["knobs"])
    return {k: learned["current"][k.name] for k in knobs if k.applies == "fixed"}


def _evidence(unit: UnitOfWork, context: ServerContext, session: Session) -> Evidence:
    """With what changes did at comparable load."""
    found = evidence_of(unit, context, session.baseline)
    unread = observation_progress.unread(unit, session, measured(unit, context, session))
    return replace(found, compared=verdicts.compared(unit, context.database, session), unread=unread)


def measured(unit: UnitOfWork, context: ServerContext, session: Session) -> History:
    """The observations of `session`, over the space of a search without evidence: no symptom is computed for it."""
    seen = _with_aims(session, observations(unit, session, context.space))
    return History(context.space, session.judged, observations=seen, current=context.active)


def _turned_down(unit: UnitOfWork, database_id: str) -> list[TurnedDown]:
    """The newest of all of the database's sessions, oldest first."""
    return [
        r.decision.turned_down
        for r in unit.recommendations.turned_down(database_id)
        if r.decision is not None and r.decision.turned_down is not None
    ]


def _asked(evidence: Evidence) -> set[str]:
    """The settings that some symptom wants to move."""
    return {m.setting for f in evidence.findings for m in f.moves if f.ground in CURABLE and m.after is not None}


def _with_aims(session: Session, observed: list[Observation]) -> list[Observation]:
    """With the aim over the session's loads, where it has several; the baseline's readings are its references."""
    if session.aim is None:
        return observed
    of_baseline = [o.completed and trial_record.is_baseline(session, o.configuration) for o in observed]
    completed = session.aim.completed([o.metrics for o in observed], of_baseline)
    return [replace(o, metrics=metrics) for o, metrics in zip(observed, completed, strict=True)]


def _answers(unit: UnitOfWork, session: Session) -> dict[str, list[tuple[Value, Value]]]:
    """What was asked for in this session and became something else on the server."""
    found: dict[str, list[tuple[Value, Value]]] = {}
    for row in trial_record.since_rebase(session, unit.recommendations.outlined(session.id)):
        made = row.outcome.active if row.outcome and row.state in (State.APPLIED, State.CONFIRMED) else {}
        for name, asked in row.configuration.items():
            if name in made and made[name] != asked:
                found.setdefault(name, []).append((asked, made[name]))
    return found


def _starts(
    unit: UnitOfWork, context: ServerContext, active: Configuration, session: Session, seen: list[Observation]
) -> list[Configuration]:
    """The rule-based configuration over the active one, as it was measured once it was; none where it failed or
    somebody turned it down.
    """
    rule_based = active.replace(context.live.rule_based(context.policy, context.known))
    for row in trial_record.since_rebase(session, unit.recommendations.outlined(session.id)):
        asked = Configuration(row.configuration)
        if row.origin == Origin.RULE_BASED and trial_record.counts(row):
            if row.state not in (State.APPLIED, State.CONFIRMED):
                return []
            configuration = Configuration({**asked, **(row.outcome.active if row.outcome else {})})
            return [o.configuration for o in seen if o.completed and not configuration.changes_to(o.configuration)][:1]
        same = asked == rule_based.restrict(context.space.names)
        if same and row.state == State.REJECTED and row.decided_by is not None:
            return []
    return [rule_based]


def context(at: ServerContext) -> dict[str, Value]:
    return {**at.server.circumstances, **(at.database.context or {})}


def observations(unit: UnitOfWork, session: Session, space: KnobSpace) -> list[Observation]:
    """Oldest first. A lab session learns only from its trials: between them there is no load. Any other one also uses
    the observations before its beginning.
    """
    lab = session.mode == "lab"
    reports = unit.reports.of_session(session.id, WINDOWS_PER_CONFIGURATION, session.rebased_at, trials_only=lab)
    reports = [*baseline_windows.windows(unit, session, WINDOWS_PER_CONFIGURATION), *reports]
    read = [o for r in reports if (o := observation(r, session, space)) is not None]
    return read if lab else _newest(read)


def observation(report: StoredReport, session: Session, space: KnobSpace) -> Observation | None:
    """A report as an observation; None if it has no configuration over this space."""
    context = {n: v for n, v in (report.context or {}).items() if CIRCUMSTANCE + n not in space} or None
    covariates = {CIRCUMSTANCE + n: v for n, v in (report.context or {}).items() if CIRCUMSTANCE + n in space}
    known = {**(report.configuration or {}), **covariates}
    if report.configuration is None or any(name not in known for name in space.names):
        return None
    configuration = Configuration(known).restrict(space.names)
    if report.failure is not None:
        return Observation.failed(configuration, report.failure, context=context)
    metrics = targets_of(report, session)
    if not metrics or report.window_start is None or report.window_end is None:
        return None
    window = Window(report.window_start, report.window_end)
    return Observation(configuration, metrics, context=context, window=window, bounds=_bounds(report, session))


def _bounds(report: StoredReport, session: Session) -> dict[str, float]:
    """Of a window that was ended early. One of another metric than is tuned for now says nothing."""
    ended = report.ended_early
    return {} if ended is None or ended["metric"] != session.objective.metric else {ended["metric"]: ended["bound"]}


def targets_of(report: StoredReport, session: Session | None) -> dict[str, float]:
    """The metrics that count: a p99 from another source than the session's counts as missing."""
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
