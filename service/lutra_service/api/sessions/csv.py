"""A session's trials as a table: one row each, one column per metric, prediction end and setting."""

from __future__ import annotations

import csv
import io
from typing import Any

from lutra_service.api.sessions.schemas import TrialAnswer
from lutra_service.common.cells import harmless

_ENDS = ("median", "low", "high")


def trials_csv(trials: list[TrialAnswer]) -> str:
    rows = [_row(t) for t in trials]
    columns = list(dict.fromkeys(c for row in rows for c in row)) or ["trial"]
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _row(trial: TrialAnswer) -> dict[str, Any]:
    head = {"trial": trial.trial, "recommendation": trial.recommendation, "state": trial.state, "origin": trial.origin}
    predicted = {f"predicted.{m}.{end}": getattr(p, end) for m, p in trial.predictions.items() for end in _ENDS}
    measured = {f"measured.{m}": v for m, v in (trial.measured or {}).items()}
    ended = trial.ended_early
    measured |= {} if ended is None else {f"bound.{ended.metric}": ended.bound}
    settings = {f"setting.{n}": v for n, v in (trial.configuration or {}).items()}
    row = {**head, "failed": trial.failed or "", "spent_s": trial.spent_s, **measured, **predicted, **settings}
    return {column: harmless(cell) for column, cell in row.items()}
