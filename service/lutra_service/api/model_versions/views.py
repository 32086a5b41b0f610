"""Model versions, as answers."""

from __future__ import annotations

from lutra_models.scores.promotion import Judged

from lutra_service.api.model_versions.schemas import BesideChampionAnswer, ModelAnswer, ModelDetailAnswer, ScoringAnswer
from lutra_service.app.model_versions import comparison, serving
from lutra_service.app.model_versions.suite import Suite, suite_of
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import ModelJob, ModelVersion
from lutra_service.db.store import UnitOfWork


def model(unit: UnitOfWork, record: ModelVersion) -> ModelAnswer:
    return ModelAnswer.model_validate(told(unit, record))


def models(unit: UnitOfWork, records: list[ModelVersion]) -> list[ModelAnswer]:
    return [model(unit, record) for record in records]


def detail(unit: UnitOfWork, record: ModelVersion) -> ModelDetailAnswer:
    job = unit.model_jobs.newest(record.id)
    return ModelDetailAnswer.model_validate(
        {
            **told(unit, record),
            "scorecard": record.scorecard,
            "data": record.data,
            "options": serving.options_of(record).to_dict(),
            "scoring": None if job is None else scoring(job),
            "in_shadow": comparison.in_shadow(unit, record.id),
            "beside_champion": _beside(comparison.beside_champion(unit, record)),
        }
    )


def _beside(beside: comparison.Beside | None) -> BesideChampionAnswer | None:
    if beside is None:
        return None
    return BesideChampionAnswer.model_validate(
        {
            "champion": beside.champion,
            "changed": beside.changed,
            "not_judged": beside.decision.not_judged,
            "judged": [_judged(one) for one in beside.judged],
            "promotes": beside.decision.promotes,
            "why": beside.decision.why,
        }
    )


def _judged(judged: Judged) -> Document:
    source, of = judged.source, judged.comparison
    return {
        "source": source.name,
        "measure": source.measure,
        "judges": sorted(source.judges),
        "sessions": of.sessions,
        "mean": of.mean,
        "low": of.low,
        "high": of.high,
        "level": of.level,
        "verdict": of.verdict,
        "needed": of.needed,
        "sentence": judged.sentence,
    }


def scoring(job: ModelJob) -> ScoringAnswer:
    done = max(0, len(job.results) - 1)
    return ScoringAnswer(state=job.state, sessions=len(job.sessions), done=done, error=job.error)


def told(unit: UnitOfWork, record: ModelVersion) -> Document:
    return {
        "id": record.id,
        "name": record.name,
        "note": record.note,
        "state": record.state,
        "serves": serving.serving(unit).version.id == record.id,
        "missing": serving.missing(record),
        "shadow": record.shadow,
        "suite": _suite(suite_of(unit, record)),
        "package_version": serving.package_version(record),
        "packages": [{"option": option, **package} for option, package in record.packages.items()],
        "fingerprint": serving.fingerprint_of(record),
        "former": record.former_id,
        "created_at": record.created_at,
        "created_by": record.created_by,
        "promoted_at": record.promoted_at,
        "retired_at": record.retired_at,
        "scored_at": record.scored_at,
    }


def _suite(suite: Suite) -> Document:
    return {"state": suite.state, "faults": suite.faults}
