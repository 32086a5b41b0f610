"""Is it alive, is it ready, how is it doing? Without a token, no answer reveals which databases exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, PlainTextResponse
from lutra_models import __version__
from prometheus_client.core import Metric

from lutra_service.api.http.access import Access
from lutra_service.api.http.body import Answer
from lutra_service.api.http.deps import StoreDep
from lutra_service.app.access.tokens import Principal
from lutra_service.app.databases import figures
from lutra_service.app.databases.figures import Figures
from lutra_service.common.telemetry import counter, exposition, gauge
from lutra_service.db.store import Store, StoreAway

router = APIRouter(tags=["health"])
SCRAPING = Access(("read",), "any")
Rows = list[tuple[tuple[str, ...], Figures]]
STORE_UP = "Whether the store answers"


class Alive(Answer):
    """The service answers."""

    status: Literal["alive"] = "alive"
    """Always `alive`."""
    version: str = __version__
    """The service's version."""


class Readiness(Answer):
    """Whether the service can do its work."""

    status: str
    """`ready`, or the missing part."""


@router.get("/healthz")
async def check_alive() -> Alive:
    """Whether the service is alive."""
    return Alive()


@router.get(
    "/readyz",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "The database does not answer"}},
)
def check_ready(stored: StoreDep) -> JSONResponse:
    """503 while the database does not answer."""
    try:
        stored.check()
    except StoreAway:  # the store itself writes one line
        return JSONResponse({"status": "the database does not answer"}, 503)
    return JSONResponse({"status": "ready"})


@router.get("/metrics", response_class=PlainTextResponse)
async def get_metrics(request: Request, stored: StoreDep) -> Response:
    """Metrics for Prometheus, of this process and of all databases together. A token of the scope `read` adds the
    databases that it reaches, by name.
    """
    given = "authorization" in request.headers
    who = await request.app.state.entry.admit(request.headers, SCRAPING, {}) if given else None
    body, content_type = exposition(*await run_in_threadpool(_product, stored, who))
    return Response(body, media_type=content_type)


def _product(stored: Store, who: Principal | None) -> list[Metric]:
    """What the store tells; and where it does not answer, that."""
    try:
        found, waiting = stored.read(
            lambda unit: (
                figures.by_database(unit, None if who is None else who.database_id),
                unit.jobs.count("recommendation", unit.now)[1],
            )
        )
        size = stored.bytes()
    except StoreAway:  # the store itself writes one line
        return [gauge("lutra_store_up", STORE_UP, (), [((), 0)])]
    rows: Rows = [((name,), f) for name, f in found.items()] if who else [((), figures.together(found.values()))]
    return [
        gauge("lutra_store_up", STORE_UP, (), [((), 1)]),
        gauge("lutra_store_bytes", "The size of the store on its disk", (), [((), size)]),
        gauge("lutra_jobs_waiting", "Computations that no worker has begun", (), [((), waiting)]),
        *_of_databases(("database",) if who else (), rows),
    ]


def _of_databases(labels: tuple[str, ...], rows: Rows) -> Iterator[Metric]:
    yield counter(
        "lutra_changes",
        "Changes of settings, by what happened to them",
        (*labels, "state"),
        [((*of, state), count) for of, f in rows for state, count in f.changes.items()],
    )
    yield counter(
        "lutra_guards_fired",
        "Guards that fired, whether a change was undone for it or not",
        (*labels, "guard"),
        [((*of, name), count) for of, f in rows for name, count in f.fired.items()],
    )
    told = {
        "lutra_recommendations_waiting": ("Recommendations that wait for a decision", "to_decide"),
        "lutra_agent_paused": ("Whether the agent is paused on its host", "paused"),
        "lutra_report_age_seconds": ("Time since the agent's last report", "report_age_s"),
        "lutra_window_age_seconds": ("Time since the end of the last window", "window_age_s"),
    }
    for name, (meaning, figure) in told.items():
        yield gauge(name, meaning, labels, [(of, getattr(f, figure)) for of, f in rows])
