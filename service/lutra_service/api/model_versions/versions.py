"""Model versions: the serving one, and the decisions about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from lutra_models.scores.promotion import Judged

from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import IdempotencyDep, MakesCandidates, Page, PageQuery, StoreDep, paging
from lutra_service.api.http.route import GuardedRoute
from lutra_service.api.model_versions import schemas
from lutra_service.api.model_versions.schemas import BesideChampionAnswer, ModelAnswer, ModelDetailAnswer, ScoringAnswer
from lutra_service.app.jobs import model_jobs
from lutra_service.app.model_versions import comparison, serving, versions
from lutra_service.app.model_versions.comparison import Suite, suite_of
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import ModelJob, ModelVersion
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
        return page.of(models(unit, unit.models.listed(page.limit + 1, page.after, state)))

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
        return model(unit, made).model_dump(mode="json")

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
    return stored.read(lambda unit: detail(unit, unit.models.get(model)))


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
    return stored.write(lambda unit: scoring(model_jobs.start(unit, model)))


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
    return stored.write(lambda unit: model(unit, step(unit)))


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
