"""A session's trials as a table: one row each, one column per metric, prediction end and setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lutra_service.api.sessions.schemas import TrialAnswer
from lutra_service.app.observations.sheet import sheet, verify_width

_ENDS = ("median", "low", "high")


def trials_csv(found: Callable[[], Sequence[TrialAnswer]]) -> Iterator[bytes]:
    """A little at a time. Raises InvalidRequest, with the first bytes, for too many columns."""
    trials, places = found(), dict[str, int]()
    for trial in trials:
        for column in _row(trial):
            places.setdefault(column, len(places))
        verify_width(len(places), "", "take format=json, where a trial has its own names")
    titles = list(places) or ["trial"]
    yield from sheet(titles, ([(places[column], cell) for column, cell in _row(t).items()] for t in trials))


def _row(trial: TrialAnswer) -> dict[str, Any]:
    head = {"trial": trial.trial, "recommendation": trial.recommendation, "state": trial.state, "origin": trial.origin}
    predicted = {f"predicted.{m}.{end}": getattr(p, end) for m, p in trial.predictions.items() for end in _ENDS}
    measured = {f"measured.{m}": v for m, v in (trial.measured or {}).items()}
    ended = trial.ended_early
    measured |= {} if ended is None else {f"bound.{ended.metric}": ended.bound}
    settings = {f"setting.{n}": v for n, v in (trial.configuration or {}).items()}
    return {**head, "failed": trial.failed or "", "spent_s": trial.spent_s, **measured, **predicted, **settings}
