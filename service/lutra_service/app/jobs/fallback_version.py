"""A package that the service finds and a worker does not: the model version before computes in its place."""

from __future__ import annotations

import logging

from lutra_models.errors import Failure

from lutra_service.app.model_versions import serving
from lutra_service.db.schema.records import Recommendation
from lutra_service.db.store import UnitOfWork

log = logging.getLogger(__name__)


def takes_over(unit: UnitOfWork, row: Recommendation, failure: Failure) -> bool:
    """Whether the recommendation, still `computing`, is now computed by the version before the one that it names."""
    if row.model_version is None:
        return False
    version = unit.models.get(row.model_version)
    if not version.packages:
        return False
    told = version.id, version.name, row.id, failure.text
    log.warning("%s (%s) cannot compute %s: %s; the previous version does", *told)
    before = next(serving.able(unit, version, after=version))
    request = unit.requests.get(row.id)
    unit.requests.put(row.id, {**request.payload, **serving.asked_of(before)})
    unit.recommendations.change(row.id, model_version=before.version.id, attempts=0, lease_until=None)
    return True
