"""Model versions, as answers."""

from __future__ import annotations

from typing import Any

from lutra_service.api.models.schemas import ModelAnswer
from lutra_service.app.models import serving
from lutra_service.db.schema.records import ModelVersion
from lutra_service.db.store import UnitOfWork


def model(unit: UnitOfWork, record: ModelVersion) -> ModelAnswer:
    return ModelAnswer.model_validate(told(unit, record))


def models(unit: UnitOfWork, records: list[ModelVersion]) -> list[ModelAnswer]:
    return [model(unit, record) for record in records]


def told(unit: UnitOfWork, record: ModelVersion) -> dict[str, Any]:
    return {
        **vars(record),
        "serves": serving.serving(unit).version.id == record.id,
        "missing": serving.missing(record),
        "package_version": serving.package_version(record),
        "packages": [{"option": option, **package} for option, package in record.packages.items()],
        "fingerprint": serving.fingerprint_of(record),
        "former": record.former_id,
    }
