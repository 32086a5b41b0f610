"""A candidate compared with the champion: on past sessions, on simulated sessions, and on its predictions in the
shadow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from lutra_models.lifecycle import ModelState
from lutra_models.scores import Forecast, tally
from lutra_models.scores.promotion import Decision, Judged, decided, judged, of_cards

from lutra_service.app.model_versions.serving import options_of
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


@dataclass(frozen=True)
class Suite:
    """`not_needed`: all parts are Lutra's own, whose tests run it."""

    state: Literal["passed", "failed", "not_run", "not_needed"]
    faults: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.state in ("passed", "not_needed")

    @property
    def sentence(self) -> str:
        if self.state == "failed":
            return f"failed the conformance suite: {'; '.join(self.faults)}"
        told = {
            "passed": "passed the conformance suite",
            "not_run": "was not scored: `lutra models score` runs the conformance suite",
        }
        return told.get(self.state, "has no parts of other packages")


def suite_of(unit: UnitOfWork, version: ModelVersion) -> Suite:
    """The result of the newest score that ran it. A score that failed before its end counts as a failed suite."""
    if not version.packages:
        return Suite("not_needed")
    last = unit.model_jobs.newest(version.id)
    if last is not None and last.state == "failed":
        found = faults(last.results[0]["conformance"]) if last.results else ()
        return Suite("failed", found or (f"the last score failed; repeat it with `lutra models score`: {last.error}",))
    told = None if version.scorecard is None else version.scorecard.get("conformance")
    if told is None:
        return Suite("not_run")
    found = faults(told)
    return Suite("failed", found) if found else Suite("passed")


def faults(parts: Sequence[Document]) -> tuple[str, ...]:
    """The violations of the suite by parts; empty if they pass."""
    return tuple(f"{part['name']}: {line}" for part in parts for line in part["faults"])
