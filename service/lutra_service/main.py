"""The composition root: creates the application from the settings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI
from lutra_models import __version__

from lutra_service.api import routes
from lutra_service.api.http import problems
from lutra_service.api.http.access_log import AccessLog
from lutra_service.api.http.entry import Entry
from lutra_service.api.http.notifier import Notifier
from lutra_service.app.databases import findings
from lutra_service.app.jobs import workload_jobs
from lutra_service.app.jobs.executor import Chore, Compute
from lutra_service.app.notices import silence
from lutra_service.app.notices.courier import CourierThread
from lutra_service.app.observations import week_notice
from lutra_service.app.reports.writer import ReportWriter
from lutra_service.app.retention.policy import RetentionThread
from lutra_service.app.tuning.consequences.follow import follow
from lutra_service.app.tuning.observe import lasting
from lutra_service.app.tuning.result import expiry
from lutra_service.common.settings import Settings
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store, utc_now
from lutra_service.workers.maker import MakesWorker, candidate_worker

DESCRIPTION = """Recommends database settings and predicts what they give.

Every call carries `Authorization: Bearer lutra_…`. Errors are RFC 9457 problems with a stable `code`."""


def train(store: Store) -> None:
    store.write(workload_jobs.queue)


def chores(settings: Settings) -> tuple[Chore, ...]:
    return (
        Chore(settings.sweep_s, expiry.sweep),
        Chore(settings.sweep_s, findings.look),
        Chore(silence.EVERY_S, silence.Silence(utc_now()).check),
        Chore(settings.sweep_s, lasting.look),
        Chore(week_notice.EVERY_S, week_notice.send),
        Chore(settings.train_s, train),
    )


@asynccontextmanager
async def _lifespan(
    store: Store, entry: Entry, notifier: Notifier, *threads: Compute | CourierThread | RetentionThread
) -> AsyncIterator[None]:
    notifier.start()
    for thread in threads:
        thread.start()
    yield
    for thread in reversed(threads):
        thread.stop()
    entry.uses.write()
    store.close()


def create_app(settings: Settings | None = None, executor: MakesWorker | None = None) -> FastAPI:
    """The application over the database that `settings` name. Workers are what they name, or what `executor` makes."""
    settings = settings or Settings()
    store = Store(make_engine(settings.database_url), daily_bytes=settings.daily_bytes, follow=follow)
    notifier = Notifier(settings.polls_per_item, settings.polls_per_token)
    entry = Entry(store, settings)
    compute = Compute(store, settings, executor, chores=chores(settings))
    courier = CourierThread(store, settings)
    parts = notifier, compute, courier, RetentionThread(store, settings)
    store.listeners += [notifier.notify, compute.on_change, courier.on_change]
    app = FastAPI(
        title="Lutra",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lambda _: _lifespan(store, entry, *parts),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect is built from the Host header, which anybody may write
    )
    app.state.settings = settings
    app.state.store = store
    app.state.report_writer = ReportWriter(store)
    app.state.notifier = notifier
    app.state.compute = compute
    app.state.make_candidates = executor or partial(candidate_worker, settings)
    app.state.entry = entry
    app.add_middleware(AccessLog, entry=entry, behind_proxy=settings.behind_tls_proxy)
    problems.install(app)
    routes.include(app)
    return app
