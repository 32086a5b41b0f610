"""The record of past recommendations: the ended ones, and the ones that count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lutra_models.errors import ComputeCode
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Session


def failure(recommendation: Recommendation) -> str | None:
    """Why nothing was measured, once that is certain."""
    if recommendation.measured is not None or recommendation.state not in (State.FAILED, State.REFUSED, State.REVERTED):
        return None
    return recommendation.error or recommendation.state


def exhausted(session: Session, rows: Iterable[Recommendation]) -> str | None:
    """The reason why its session has nothing left to try, if the newest search found that; otherwise None."""
    searched = [r for r in since_rebase(session, rows) if r.kind == Kind.SEARCH]
    ended = searched[-1].failure if searched and searched[-1].state == State.FAILED else None
    return ended.message if ended is not None and ended.code is ComputeCode.SPACE_EXHAUSTED else None


def changed_from(session: Session, rows: Iterable[Recommendation]) -> dict[str, Any]:
    """Every setting that the session's recommendations have changed, with its value before the first of them."""
    made = (c for r in since_rebase(session, rows) if r.applied_at is not None for c in r.changes)
    found: dict[str, Any] = {}
    for change in made:
        found.setdefault(change["setting"], change["before"])
    return found


def is_trial(recommendation: Recommendation) -> bool:
    """A recommendation of its session's search, or the part of one that was approved instead of the whole."""
    return recommendation.kind == Kind.SEARCH or (
        recommendation.kind == Kind.SUBSET and recommendation.trial is not None
    )


def counts(recommendation: Recommendation) -> bool:
    """Whether it is a finished trial of its session: measured, or tried and failed."""
    if not is_trial(recommendation) or recommendation.decision is None:
        return False
    if recommendation.state == State.REFUSED:
        return is_of_the_configuration(recommendation)
    return recommendation.measured is not None or failure(recommendation) is not None


def spent_s(recommendation: Recommendation) -> float | None:
    """The seconds from the directive to its outcome; None before both."""
    given = None if recommendation.delivery is None else recommendation.delivery.handed_out_at
    ended = recommendation.ended_at
    return None if given is None or ended is None else (ended - given).total_seconds()


def is_of_the_configuration(refused: Recommendation) -> bool:
    """Whether it was refused because of its settings."""
    return refused.failure is not None and refused.failure.code.is_of_the_configuration


def since_rebase(session: Session, rows: Iterable[Recommendation]) -> list[Recommendation]:
    """The recommendations about the session's current server."""
    return [r for r in rows if session.is_about(r)]


def numbers(row: Recommendation) -> dict[str, float]:
    """The readings, by metric."""
    return {n: v for n, v in (row.measured or {}).items() if isinstance(v, int | float)}


def is_baseline(session: Session, configuration: Mapping[str, Any]) -> bool:
    """Whether it is the configuration at the start of the session. Settings that were not stored then are unknown."""
    began = session.baseline
    return began is not None and all(n in began and began[n] == value for n, value in configuration.items())


def with_aim(
    session: Session, rows: Sequence[Recommendation], recommendation: Recommendation, metrics: dict[str, float]
) -> dict[str, float]:
    """The readings under `recommendation` with the aim over the session's loads, if it has several.

    The references are those of the session's previous `rows`.
    """
    if session.aim is None:
        return metrics
    earlier = [r for r in since_rebase(session, rows) if r.measured is not None and r.id != recommendation.id]
    readings = [*(numbers(r) for r in earlier), metrics]
    of_baseline = [is_baseline(session, r.configuration) for r in (*earlier, recommendation)]
    return session.aim.completed(readings, of_baseline)[-1]
