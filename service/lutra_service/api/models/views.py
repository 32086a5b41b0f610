"""Model versions, as answers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lutra_service.api.models.schemas import BesideChampionAnswer, ModelAnswer, ModelDetailAnswer, ScoringAnswer
from lutra_service.app.models import compared, serving
from lutra_service.app.models.suite import suite_of
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
            "options": serving.options_of(record).to_dict(),
            "scoring": None if job is None else scoring(job),
            "in_shadow": compared.in_shadow(unit, record.id),
            "beside_champion": _beside(compared.beside_champion(unit, record)),
        }
    )


def _beside(found: compared.Beside | None) -> BesideChampionAnswer | None:
    if found is None:
        return None
    judged = [
        {
            **vars(j.comparison),
            "source": j.source.name,
            "measure": j.source.measure,
            "judges": sorted(j.source.judges),
            "verdict": j.comparison.verdict,
            "sentence": j.sentence,
        }
        for j in found.judged
    ]
    return BesideChampionAnswer.model_validate({**vars(found), **vars(found.decision), "judged": judged})


def scoring(job: ModelJob) -> ScoringAnswer:
    done = max(0, len(job.results) - 1)
    return ScoringAnswer(state=job.state, sessions=len(job.sessions), done=done, error=job.error)


def told(unit: UnitOfWork, record: ModelVersion) -> dict[str, Any]:
    return {
        **vars(record),
        "serves": serving.serving(unit).version.id == record.id,
        "missing": serving.missing(record),
        "suite": asdict(suite_of(unit, record)),
        "package_version": serving.package_version(record),
        "packages": [{"option": option, **package} for option, package in record.packages.items()],
        "fingerprint": serving.fingerprint_of(record),
        "former": record.former_id,
    }
