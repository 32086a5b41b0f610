"""A candidate in the shadow beside what served: both predicted the same readings, which were then taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lutra_models.scores import Forecast, tally

from lutra_service.common.documents import Document
from lutra_service.db.store import UnitOfWork


def in_shadow(unit: UnitOfWork, model_id: str) -> Document | None:
    """`candidate` and `served`, each with the means over the readings that both predicted; None before the first."""
    mine: list[Forecast] = []
    served: list[Forecast] = []
    for candidate, serving, measured in unit.model_jobs.compared(model_id):
        for metric, told in candidate.items():
            reading = measured.get(metric)
            if metric in serving and isinstance(reading, int | float) and serving[metric]["level"] == told["level"]:
                mine.append(_forecast(told, reading))
                served.append(_forecast(serving[metric], reading))
    return {"candidate": tally(mine), "served": tally(served)} if mine else None


def _forecast(told: Mapping[str, Any], measured: float) -> Forecast:
    return Forecast(told["median"], {told["level"]: (told["low"], told["high"])}, measured)
