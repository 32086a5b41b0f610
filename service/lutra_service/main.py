"""The composition root: settings in, application out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from lutra_models import __version__

from lutra_service.api import problems, routes
from lutra_service.api.bodies import Bodies
from lutra_service.api.observed import Observed
from lutra_service.api.signals import Signals
from lutra_service.compute import Compute, MakesWorker
from lutra_service.db.engine import make_engine
from lutra_service.db.store import Store
from lutra_service.pruning import Pruning
from lutra_service.settings import Settings

DESCRIPTION = """Recommends database settings and predicts what they give.

Every call carries `Authorization: Bearer lutra_…`. Errors are RFC 9457 problems with a stable `code`."""


def create_app(settings: Settings | None = None, executor: MakesWorker | None = None) -> FastAPI:
    """The application over the database that `settings` name. Workers are what they name, or what `executor` makes."""
    settings = settings or Settings()
    store = Store(make_engine(settings.database_url))
    signals = Signals()
    compute, pruning = Compute(store, settings, executor), Pruning(store, settings)
    store.listeners += [signals.notify, compute.heard]

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        signals.start()
        compute.start()
        pruning.start()
        yield
        pruning.stop()
        compute.stop()
        store.close()

    app = FastAPI(title="Lutra", version=__version__, description=DESCRIPTION, lifespan=lifespan, redoc_url=None)
    app.state.store = store
    app.state.signals = signals
    app.state.compute = compute
    app.add_middleware(Bodies, max_body_bytes=settings.max_body_bytes, max_expanded_bytes=settings.max_expanded_bytes)
    app.add_middleware(Observed)
    problems.install(app)
    routes.include(app)
    return app
