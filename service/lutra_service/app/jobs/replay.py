"""The input of a stored recommendation and its answer, to be computed and compared again."""

from __future__ import annotations

from lutra_models import __version__
from lutra_models.errors import IllegalTransition, NotFound

from lutra_service.app.jobs.kinds import Job
from lutra_service.app.jobs.lease import job
from lutra_service.app.model_versions.serving import require_whole
from lutra_service.app.tuning.propose.request import COMPUTED
from lutra_service.common.documents import Document
from lutra_service.db.store import UnitOfWork

ANSWERED = ("origin", "predictions", "reasons", "curve", "shortened_from", "must_reach", "looked_at")


def stored_answer(unit: UnitOfWork, id_: str) -> tuple[Job, Document]:
    """The request, and the parts of its answer that were stored unchanged.

    Raises IllegalTransition if nothing was computed, or another version of the package computed it, NotFound if the
    request was deleted because of its age, and MissingExtension if its model version needs a package that is gone.
    """
    recommendation = unit.recommendations.get(id_)
    computed = recommendation.kind in COMPUTED and recommendation.parent_id is None
    if not computed or recommendation.proposed_at is None:
        raise IllegalTransition(f"{id_} is {recommendation.kind}, {recommendation.state}: nothing was computed for it")
    if recommendation.package_version != __version__:
        raise IllegalTransition(f"{id_} was computed by {recommendation.package_version}, this is {__version__}")
    if recommendation.model_version is not None:
        require_whole(unit.models.get(recommendation.model_version))
    if unit.requests.find(id_) is None:
        raise NotFound(f"the input of {id_} is no longer stored: it is older than the retention")
    answered = {name: getattr(recommendation, name) for name in ANSWERED}
    return job(unit, id_), {**answered, "configuration": recommendation.configuration}
