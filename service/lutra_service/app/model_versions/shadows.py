"""Candidates that run in the shadow: what they predict of a recommendation that another version made."""

from __future__ import annotations

from lutra_service.db.schema.records import ModelJob, Recommendation
from lutra_service.db.store import UnitOfWork


def begin(unit: UnitOfWork, recommendation: Recommendation) -> None:
    """Let every such candidate predict what `recommendation`, just proposed, was predicted to give."""
    if not recommendation.predictions:
        return
    for version in unit.models.shadows():
        job = ModelJob(
            id=unit.new_id("job"),
            model_id=version.id,
            kind="shadow",
            state="waiting",
            created_at=unit.now,
            recommendation_id=recommendation.id,
        )
        unit.model_jobs.add(job)
