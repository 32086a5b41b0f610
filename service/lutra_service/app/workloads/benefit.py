"""The test of whether past workloads help a session: its forecasts with them, compared with those without.

Each recommendation that uses some keeps both forecasts of its settings. The later measurement shows which one was
better. A session whose forecasts are worse with the past learns only from itself from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lutra_models.scores import Comparison, Forecast, compared

from lutra_service.db.schema.records import Session
from lutra_service.db.store import UnitOfWork

LEVEL = 0.8
"""An unnecessary stop costs less than misleading workloads, so the interval is narrower than that of a promotion."""


def of_session(unit: UnitOfWork, session: Session) -> Comparison:
    """The log score of the objective's forecasts with the past less that without, over its measured trials."""
    metric = session.judged.metric
    found = (_difference(metric, *row) for row in unit.recommendations.leaned(session.id))
    return compared([d for d in found if d is not None], LEVEL)


def harms(unit: UnitOfWork, session: Session) -> bool:
    return of_session(unit, session).verdict == "worse"


def sentence(comparison: Comparison) -> str:
    """The result in words; empty if no trial with past workloads was measured."""
    if comparison.mean is None:
        return ""
    trials = f"{comparison.sessions} trial{'s' if comparison.sessions > 1 else ''}"
    span = "" if comparison.low is None else f" ({comparison.low:+.2f} to {comparison.high:+.2f})"
    told = f"the log score of its forecasts is {comparison.mean:+.2f}{span} with past workloads, over {trials}"
    return {
        "better": f"Past workloads help: {told}.",
        "worse": f"Past workloads harm, and the session no longer uses them: {told}.",
        "undecided": f"Whether past workloads help is not known yet: {told}.",
    }[comparison.verdict]


def _difference(
    metric: str, told: Mapping[str, Any], alone: Mapping[str, Any], measured: Mapping[str, Any]
) -> float | None:
    reading = measured.get(metric)
    if metric not in told or metric not in alone or not isinstance(reading, int | float):
        return None
    return _log_score(told[metric], reading) - _log_score(alone[metric], reading)


def _log_score(told: Mapping[str, Any], reading: float) -> float:
    return Forecast(told["median"], {told["level"]: (told["low"], told["high"])}, reading).log_score
