"""Tuning sessions, their trials and their history."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
from lutra_models import serial
from lutra_models.aims import Aim
from lutra_models.history import TuningSession
from lutra_models.lifecycle import SessionState
from lutra_models.metrics import Limit, Objective

from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import Bearer, Exports, IdempotencyDep, Page, PageQuery, StoreDep, paging
from lutra_service.api.http.route import GuardedRoute
from lutra_service.api.observations.export import Export
from lutra_service.api.sessions import schemas, views
from lutra_service.api.sessions.schemas import TrialAnswer
from lutra_service.app.databases.current_server import context_of
from lutra_service.app.errors import InvalidRequest
from lutra_service.app.observations.sheet import sheet, verify_width
from lutra_service.app.tuning.record import histories
from lutra_service.app.tuning.session import known_metrics, sessions
from lutra_service.app.tuning.session.progress import progress, trials
from lutra_service.common.documents import Document
from lutra_service.db.store import UnitOfWork

_ENDS = ("median", "low", "high")


def trials_csv(found: Callable[[], Sequence[TrialAnswer]]) -> Iterator[bytes]:
    """The table in small pieces. Raises InvalidRequest, with the first bytes, for too many columns."""
    trials, places = found(), dict[str, int]()
    for trial in trials:
        for column in _row(trial):
            places.setdefault(column, len(places))
        verify_width(len(places), "", "use format=json, where each trial has its own names")
    titles = list(places) or ["trial"]
    yield from sheet(titles, ([(places[column], cell) for column, cell in _row(t).items()] for t in trials))


def _row(trial: TrialAnswer) -> dict[str, Any]:
    head = {"trial": trial.trial, "recommendation": trial.recommendation, "state": trial.state, "origin": trial.origin}
    predicted = {f"predicted.{m}.{end}": getattr(p, end) for m, p in trial.predictions.items() for end in _ENDS}
    measured = {f"measured.{m}": v for m, v in (trial.measured or {}).items()}
    ended = trial.ended_early
    measured |= {} if ended is None else {f"bound.{ended.metric}": ended.bound}
    settings = {f"setting.{n}": v for n, v in (trial.configuration or {}).items()}
    return {**head, "failed": trial.failed or "", "spent_s": trial.spent_s, **measured, **predicted, **settings}


router = APIRouter(route_class=GuardedRoute, tags=["sessions"])
Answer = schemas.SessionAnswer
Responses = dict[int | str, dict[str, Any]]
AS_TABLE: Responses = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}
HISTORY: Responses = {200: {"model": schemas.HistoryAnswer, "description": "The history"}, 409: {}}


@router.post("/v1/databases/{database}/sessions", status_code=201, response_model=Answer)
@allow("propose", "agent", of="database")
def open_session(
    database: str, body: schemas.NewSession, stored: StoreDep, who: Bearer, once: IdempotencyDep, response: Response
) -> Any:
    """Open a tuning session. An agent can open one in mode lab for its own database (`lutra-agent tune`). Automatic
    approval needs the scope `operate`, or an agent in mode lab.
    """
    asked = _parsed(body)

    def create(unit: UnitOfWork) -> Document:
        known_metrics.require_known(unit, unit.databases.get(database), asked)
        session = sessions.open_session(unit, database, asked, body.seed, who)
        return views.session(progress(unit, session)).model_dump(mode="json")

    response.status_code, answer = stored.write(lambda unit: once(unit, 201, lambda: create(unit)))
    return answer


@router.get("/v1/databases/{database}/sessions")
@allow("read", "agent", of="database")
def list_sessions(database: str, stored: StoreDep, page: Annotated[PageQuery, Depends(paging("ts"))]) -> Page[Answer]:
    """Newest first."""
    found = stored.read(
        lambda unit: [
            views.session(progress(unit, s)) for s in unit.sessions.listed(database, page.limit + 1, page.after)
        ]
    )
    return Page[Answer].model_validate(page.of(found))


@router.get("/v1/sessions/{session}")
@allow("read", "agent", of="session")
def get_session(session: str, stored: StoreDep) -> Answer:
    """The session and its state."""
    return _shown(stored, session)


@router.post("/v1/sessions/{session}/pause")
@allow("operate", of="session")
def pause_session(session: str, stored: StoreDep, who: Bearer) -> Answer:
    """Pause the session: it takes no further step, and the step in progress is completed."""
    return _steer(stored, who, session, SessionState.PAUSED)


@router.post("/v1/sessions/{session}/resume")
@allow("operate", of="session")
def resume_session(session: str, stored: StoreDep, who: Bearer) -> Answer:
    """Continue the session. If the server has changed, the session starts over on the new server."""
    return _steer(stored, who, session, SessionState.RUNNING)


@router.post("/v1/sessions/{session}/stop")
@allow("operate", of="session")
def stop_session(session: str, stored: StoreDep, who: Bearer) -> Answer:
    """End the session permanently, and withdraw recommendations that are not yet applied."""
    return _steer(stored, who, session, SessionState.STOPPED)


@router.get("/v1/sessions/{session}/trials", response_model=Page[schemas.TrialAnswer], responses=AS_TABLE)
@allow("read", "agent", of="session")
def list_trials(
    session: str,
    stored: StoreDep,
    who: Bearer,
    places: Exports,
    format_: Annotated[Literal["json", "csv"], Query(alias="format", description="The format of the answer.")] = "json",
) -> Any:
    """Every trial in order, as JSON or (`?format=csv`) as a table. In the table, a text that a spreadsheet would take
    for a formula has a leading apostrophe.
    """

    def found() -> list[schemas.TrialAnswer]:
        return [views.trial(r) for r in stored.read(lambda unit: trials(unit, session))]

    if format_ == "csv":
        return Export(trials_csv(found), "text/csv", places, who.token_id)
    return {"items": found(), "next": None}


@router.get("/v1/sessions/{session}/history", responses=HISTORY)
@allow("read", "agent", of="session")
def get_history(session: str, stored: StoreDep) -> Document:
    """The input that `recommend` would use now. `lutra_models.serial.history_from_dict` turns it into a `History`."""

    def read(unit: UnitOfWork) -> Document:
        found = unit.sessions.get(session)
        context = context_of(unit, unit.databases.get(found.database_id), found)
        return serial.history_to_dict(histories.history(unit, context, found), context.server, context.policy)

    return stored.read(read)


def _parsed(body: schemas.NewSession) -> TuningSession:
    objective = Objective(body.objective.metric, body.objective.goal)
    try:
        return TuningSession(
            objective,
            tuple(Limit(x.metric, x.at_most, x.at_least) for x in body.limits),
            body.mode,
            body.approval,
            body.max_trials,
            body.verification_rounds,
            body.max_changes,
            _aim(objective, body),
            body.exploration,
        )
    except ValueError as error:
        raise InvalidRequest(str(error)) from error


def _aim(objective: Objective, body: schemas.NewSession) -> Aim | None:
    """Raises ValueError."""
    names = [load.name for load in body.loads]
    if len(set(names)) < len(names):
        raise ValueError(f"each load once, got {', '.join(names)}")
    return Aim(objective, {load.name: load.weight for load in body.loads}, body.aim) if names else None


def _steer(stored: StoreDep, who: Bearer, session: str, to: SessionState) -> Answer:
    stored.write(lambda unit: sessions.steer(unit, session, to, who.token_id))
    return _shown(stored, session)


def _shown(stored: StoreDep, session: str) -> Answer:
    return views.session(stored.read(lambda unit: progress(unit, unit.sessions.get(session))))
