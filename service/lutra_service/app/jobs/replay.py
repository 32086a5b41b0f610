"""The input of a stored recommendation and its answer, to be computed and compared again."""

from __future__ import annotations

from lutra_models import __version__
from lutra_models.errors import IllegalTransition, NotFound

from lutra_service.app.jobs.kinds import Task
from lutra_service.app.jobs.recommendation_jobs import task_of
from lutra_service.app.model_versions.serving import require_whole
from lutra_service.app.tuning.propose.request import COMPUTED
from lutra_service.common.documents import Document
from lutra_service.db.store import UnitOfWork

ANSWERED = ("origin", "predictions", "reasons", "curve", "shortened_from", "must_reach", "looked_at", "configuration")


def stored_answer(unit: UnitOfWork, id_: str) -> tuple[Task, Document]:
    """The request, and the parts of its answer that were stored unchanged.

    Raises IllegalTransition if nothing was computed, or another version of the package computed it, NotFound if the
    request was deleted because of its age, and MissingExtension if its model version needs a package that is gone.
    """
    recommendation = unit.recommendations.get(id_)
    asked, proposal = recommendation.request, recommendation.proposal
    computed = recommendation.kind in COMPUTED and recommendation.parent_id is None
    if not computed or proposal is None or proposal.proposed_at is None:
        raise IllegalTransition(f"{id_} is {recommendation.kind}, {recommendation.state}: nothing was computed for it")
    if asked.package_version != __version__:
        raise IllegalTransition(f"{id_} was computed by {asked.package_version}, this is {__version__}")
    if asked.model_version is not None:
        require_whole(unit.models.get(asked.model_version))
    if unit.requests.find(id_) is None:
        raise NotFound(f"the input of {id_} is no longer stored: it is older than the retention")
    return task_of(unit, id_), {name: getattr(proposal, name) for name in ANSWERED}
