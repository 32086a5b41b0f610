"""Repositories of model versions, and of their computations."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lutra_models.lifecycle import ModelState, advance_model
from sqlalchemy import select

from lutra_service.db.repositories.repository import Repository, RowMoved, remembered
from lutra_service.db.schema.records import ModelJob, ModelVersion
from lutra_service.db.schema.tables import ModelJobRow, ModelVersionRow, RecommendationRow

MEASURED = 1000
"""The number of a version's newest predictions in the shadow that are compared with readings."""


class Models(Repository[ModelVersion]):
    row = ModelVersionRow
    record = ModelVersion
    noun = "model version"

    @remembered
    def champion(self) -> ModelVersion:
        found = self._one(self.table.c.state == ModelState.CHAMPION)
        assert found is not None, "the migrations make one, and none retires without another in its place"
        return found

    def listed(self, limit: int, after: str | None, state: str | None = None) -> list[ModelVersion]:
        """Newest first; the shipped one is the last."""
        where = [] if state is None else [self.table.c.state == state]
        return self.page(*where, limit=limit, after=after, newest_first=True)

    def step(self, version: ModelVersion, to: ModelState, **values: Any) -> ModelVersion:
        """Raises IllegalTransition, and RowMoved if another transaction was faster."""
        state = advance_model(version.state, to)
        if not self.change(version.id, self.table.c.state == version.state, state=state, **values):
            raise RowMoved(f"{version.id} is {version.state} no longer")
        return self.get(version.id)

    def shadows(self) -> list[ModelVersion]:
        c = self.table.c
        return self._many(select(self.table).where(c.state == ModelState.CANDIDATE, c.shadow).order_by(c.id))


class ModelJobs(Repository[ModelJob]):
    row = ModelJobRow
    record = ModelJob
    noun = "job of a model version"

    def newest(self, model_id: str) -> ModelJob | None:
        """The newest of its scorecard."""
        c = self.table.c
        rows = self._many(
            select(self.table).where(c.model_id == model_id, c.kind == "score").order_by(c.id.desc()).limit(1)
        )
        return rows[0] if rows else None

    def end_open(self, model_id: str, error: str, now: datetime, kind: str | None = None) -> list[str]:
        """Open computations for it, all or of one kind, are no longer needed; their ids."""
        c = self.table.c
        where = [c.model_id == model_id, c.state == "waiting", *([] if kind is None else [c.kind == kind])]
        ended = list(self._db.execute(select(c.id).where(*where)).scalars())
        self._update(*where, state="failed", error=error[:1000], ended_at=now)
        return ended

    def compared(self, model_id: str) -> list[tuple[str | None, dict[str, Any], dict[str, Any], dict[str, Any]]]:
        """The newest predictions in the shadow that were then measured: by session, with the serving version's
        predictions and the readings.
        """
        c, r = self.table.c, RecommendationRow.__table__.c
        found = (
            select(r.session_id, c.predictions, r.predictions, r.measured)
            .join(RecommendationRow, r.id == c.recommendation_id)
            .where(c.model_id == model_id, c.kind == "shadow", c.state == "done", r.measured.is_not(None))
            .order_by(c.id.desc())
            .limit(MEASURED)
        )
        return [(of, mine or {}, served or {}, measured) for of, mine, served, measured in self._db.execute(found)]
