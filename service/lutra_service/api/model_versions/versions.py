"""Model versions: the serving one, and the decisions about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response

from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import IdempotencyDep, MakesCandidates, Page, PageQuery, StoreDep, paging
from lutra_service.api.http.route import GuardedRoute
from lutra_service.api.model_versions import schemas, views
from lutra_service.app.jobs import past_sessions
from lutra_service.app.model_versions import serving, versions
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import ModelVersion
from lutra_service.db.store import Store, UnitOfWork

router = APIRouter(route_class=GuardedRoute, tags=["models"])
Answer = schemas.ModelAnswer
PLAINLY = schemas.Promoting()
State = Annotated[schemas.ModelState | None, Query(description="Only recommendations in this state.")]
AS_TOML: dict[int | str, dict[str, Any]] = {200: {"content": {"application/toml": {"schema": {"type": "string"}}}}}


@router.get("/v1/models")
@allow("read", of="service")
def list_models(
    stored: StoreDep, page: Annotated[PageQuery, Depends(paging("mv"))], state: State = None
) -> Page[Answer]:
    """Every model version, newest first; the shipped version comes last."""

    def read(unit: UnitOfWork) -> Document:
        return page.of(views.models(unit, unit.models.listed(page.limit + 1, page.after, state)))

    return Page[Answer].model_validate(stored.read(read))


@router.post("/v1/models", status_code=201, response_model=Answer)
@allow("models", of="service")
def register_model(
    body: schemas.NewModel, stored: StoreDep, once: IdempotencyDep, response: Response, make: MakesCandidates
) -> Any:
    """Register an options document as a candidate. It does not serve until it is promoted. Parts from other packages
    are imported in a separate process; a package that cannot be imported is refused.
    """
    if body.toml is not None:
        options = versions.importable(body.toml, "toml", make)
    else:
        options = versions.importable(json.dumps(body.options), "json", make)

    def create(unit: UnitOfWork) -> Document:
        made = versions.register(unit, body.name, options, body.note)
        return views.model(unit, made).model_dump(mode="json")

    response.status_code, answer = stored.write(lambda unit: once(unit, 201, lambda: create(unit)))
    return answer


@router.post("/v1/models/rollback")
@allow("models", of="service")
def roll_back_model(stored: StoreDep) -> Answer:
    """Let the previous champion serve again; the current one is retired."""
    return _done(stored, versions.roll_back)


@router.get("/v1/models/{model}")
@allow("read", of="service")
def get_model(model: str, stored: StoreDep) -> schemas.ModelDetailAnswer:
    """One model version with its options, its scorecard, and the accuracy of its shadow predictions beside the
    champion's.
    """
    return stored.read(lambda unit: views.detail(unit, unit.models.get(model)))


@router.get("/v1/models/{model}/options", responses=AS_TOML, response_class=Response)
@allow("read", of="service")
def get_model_options(model: str, stored: StoreDep) -> Response:
    """The options of the version as a TOML document, with the meaning and the range of each option."""
    text = stored.read(lambda unit: serving.document(unit.models.get(model)))
    return Response(text, media_type="application/toml")


@router.post("/v1/models/{model}/score", status_code=202)
@allow("models", of="service")
def score_model(model: str, stored: StoreDep) -> schemas.ScoringAnswer:
    """Compute the version's scorecard from past sessions. The model version shows the progress."""
    return stored.write(lambda unit: views.scoring(past_sessions.start(unit, model)))


@router.put("/v1/models/{model}/shadow")
@allow("models", of="service")
def shadow_model(model: str, stored: StoreDep) -> Answer:
    """Let a candidate predict beside the champion, for each later recommendation, without changing it."""
    return _done(stored, lambda unit: versions.set_shadow(unit, model, True))


@router.delete("/v1/models/{model}/shadow")
@allow("models", of="service")
def unshadow_model(model: str, stored: StoreDep) -> Answer:
    """Stop the shadow of a candidate. Earlier predictions are kept."""
    return _done(stored, lambda unit: versions.set_shadow(unit, model, False))


@router.post("/v1/models/{model}/promote")
@allow("models", of="service")
def promote_model(model: str, stored: StoreDep, body: schemas.Promoting = PLAINLY) -> Answer:
    """Let the version serve from now on, in every process of the service; the previous champion is retired. With
    `by_rule`, only if it is shown to be better.
    """
    return _done(stored, lambda unit: versions.promote(unit, model, body.by_rule))


@router.post("/v1/models/{model}/retire")
@allow("models", of="service")
def retire_model(model: str, stored: StoreDep) -> Answer:
    """Retire a candidate. It can still be promoted later."""
    return _done(stored, lambda unit: versions.retire(unit, model))


def _done(stored: Store, step: Callable[[UnitOfWork], ModelVersion]) -> Answer:
    return stored.write(lambda unit: views.model(unit, step(unit)))
