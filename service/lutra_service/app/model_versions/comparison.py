"""A candidate compared with the champion: on past sessions, on simulated sessions, and on its predictions in the
shadow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from lutra_models.lifecycle import ModelState
from lutra_models.scores import Forecast, tally
from lutra_models.scores.promotion import Decision, Judged, decided, judged, of_cards

from lutra_service.app.model_versions.serving import options_of
from lutra_service.app.model_versions.suite import suite_of
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import ModelVersion
from lutra_service.db.store import UnitOfWork


@dataclass(frozen=True)
class Beside:
    """A version compared with the champion: the groups of options in which they differ, the result of each source, and
    the decision of the rule.
    """

    champion: str
    changed: tuple[str, ...]
    judged: tuple[Judged, ...]
    decision: Decision


def beside_champion(unit: UnitOfWork, version: ModelVersion) -> Beside | None:
    """None for the champion itself."""
    champion = unit.models.champion()
    if version.state == ModelState.CHAMPION:
        return None
    mine, theirs = (options_of(v).to_dict() for v in (version, champion))
    changed = tuple(room for room in mine if mine[room] != theirs[room])
    differences = of_cards(version.scorecard, champion.scorecard)
    found = judged({**differences, "shadow": _by_session(unit, version.id)})
    return Beside(champion.id, changed, found, _ruled(unit, version, decided(changed, found)))


def in_shadow(unit: UnitOfWork, model_id: str) -> Document | None:
    """`candidate` and `served`, each with the means over the readings that both predicted; None before the first."""
    pairs = [pair for _, pair in _pairs(unit, model_id)]
    return {"candidate": tally([p[0] for p in pairs]), "served": tally([p[1] for p in pairs])} if pairs else None


def _ruled(unit: UnitOfWork, version: ModelVersion, decision: Decision) -> Decision:
    """Nothing is promoted by the rule that has not passed the suite, whatever it predicts."""
    suite = suite_of(unit, version)
    return decision if suite.passed else Decision(False, suite.sentence, decision.not_judged)


def _by_session(unit: UnitOfWork, model_id: str) -> list[float]:
    """By how much the log score of a session's readings is better than that of what served."""
    found: dict[str, list[float]] = {}
    for session, (mine, served) in _pairs(unit, model_id):
        found.setdefault(session, []).append(mine.log_score - served.log_score)
    return [fmean(differences) for differences in found.values()]


def _pairs(unit: UnitOfWork, model_id: str) -> Iterator[tuple[str, tuple[Forecast, Forecast]]]:
    """By session, what the candidate and what served predicted of a reading."""
    for session, candidate, serving, measured in unit.model_jobs.compared(model_id):
        for metric, told in candidate.items():
            reading = measured.get(metric)
            if metric in serving and isinstance(reading, int | float) and serving[metric]["level"] == told["level"]:
                yield session or "", (_forecast(told, reading), _forecast(serving[metric], reading))


def _forecast(told: Mapping[str, Any], measured: float) -> Forecast:
    return Forecast(told["median"], {told["level"]: (told["low"], told["high"])}, measured)
