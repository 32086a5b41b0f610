"""Is it alive, is it ready, how is it doing? Without a token, no answer reveals which databases exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from lutra_service.app.databases.figures import Figures, Present
from lutra_service.common.telemetry import counter, exposition, gauge
from lutra_service.db.store import Store, StoreAway, UnitOfWork

router = APIRouter(tags=["health"])
SCRAPING = Access(("read",), "any")
Of = tuple[str, ...]
"""The label's value: a database's name, or nothing for all together."""
Row = tuple[Of, Figures, Present | None]
STORE_UP = "Whether the store answers"
COUNTED = {
    "lutra_recommendations_waiting": ("Recommendations that wait for a decision", "to_decide"),
    "lutra_agent_paused": ("Whether the agent is paused on its host", "paused"),
    "lutra_report_age_seconds": ("Time since the agent's last report", "report_age_s"),
    "lutra_window_age_seconds": ("Time since the end of the last window", "window_age_s"),
}
MEASURED = {
    "lutra_p99_seconds": ("The 99th percentile of the latency in the newest window", "p99_s"),
    "lutra_queries_per_second": ("The rate of queries in the newest window", "qps"),
    "lutra_gain_reported_ratio": ("The newest gain when it was reported, as the ratio of after to before", "reported"),
    "lutra_gain_held_ratio": ("The same by the last day's windows, when it was last judged again", "held"),
    "lutra_memory_headroom_bytes": ("The memory limit less the worst case of the settings", "headroom_bytes"),
}


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
    most = request.app.state.settings.metrics_databases
    body, content_type = exposition(*await run_in_threadpool(_product, stored, who, most))
    return Response(body, media_type=content_type)


def _product(stored: Store, who: Principal | None, most: int) -> list[Metric]:
    """What the store tells; and where it does not answer, that."""
    try:
        rows, (_, waiting), notices = stored.read(
            lambda unit: (
                _rows(unit, who, most),
                unit.jobs.count("recommendation", unit.now),
                unit.deliveries.count_waiting(),
            )
        )
        size = stored.bytes()
    except StoreAway:  # the store itself writes one line
        return [gauge("lutra_store_up", STORE_UP, (), [((), 0)])]
    labels = ("database",) if who else ()
    return [
        gauge("lutra_store_up", STORE_UP, (), [((), 1)]),
        gauge("lutra_store_bytes", "The size of the store on its disk", (), [((), size)]),
        gauge("lutra_jobs_waiting", "Computations that no worker has begun", (), [((), waiting)]),
        gauge("lutra_notices_waiting", "Messages that wait for their delivery to a receiver", (), [((), notices)]),
        *_of_databases(labels, [(of, figures) for of, figures, _ in rows]),
        *_present(labels, [(of, present) for of, _, present in rows if present is not None]),
    ]


def _rows(unit: UnitOfWork, who: Principal | None, most: int) -> list[Row]:
    if who is None:
        return [((), figures.together(unit), None)]
    return [((row.name,), row.figures, row.present) for row in figures.by_database(unit, who.database_id, most)]


def _of_databases(labels: tuple[str, ...], rows: Sequence[tuple[Of, Figures]]) -> Iterator[Metric]:
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
    yield gauge(
        "lutra_findings",
        "Harmful findings that show now, without the accepted ones",
        (*labels, "kind"),
        [((*of, kind), count) for of, f in rows for kind, count in f.findings.items()],
    )
    yield gauge(
        "lutra_gains",
        "Reported gains within 90 days, by their outcome",
        (*labels, "state"),
        [((*of, state), getattr(f.gains, state)) for of, f in rows for state in ("holds", "decayed", "unknown")],
    )
    shares = [(of, f.gains.share) for of, f in rows]
    yield gauge(
        "lutra_gains_held_share",
        "The share of the gains judged again that hold",
        labels,
        [(of, share) for of, share in shares if share is not None],
    )
    for name, (meaning, figure) in COUNTED.items():
        yield gauge(name, meaning, labels, [(of, getattr(f, figure)) for of, f in rows])


def _present(labels: tuple[str, ...], rows: Sequence[tuple[Of, Present]]) -> Iterator[Metric]:
    for name, (meaning, figure) in MEASURED.items():
        known = [(of, getattr(p, figure)) for of, p in rows]
        yield gauge(name, meaning, labels, [(of, value) for of, value in known if value is not None])
    yield gauge(
        "lutra_session_open",
        "The state of the open session, as a label",
        (*labels, "state"),
        [((*of, p.session), 1) for of, p in rows if p.session is not None],
    )
