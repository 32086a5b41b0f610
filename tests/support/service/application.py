"""Applications that share what is the same in all of them, and costs more to make than most tests take."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fastapi import FastAPI
from lutra_service import main
from lutra_service.app.jobs.executor import Chore
from lutra_service.app.retention.policy import RetentionThread
from lutra_service.common.settings import Settings
from lutra_service.db import migrate
from lutra_service.db.schema.engine import make_engine
from lutra_service.workers.maker import MakesWorker
from sqlalchemy import Engine, event

from tests.support.service.documented import Documented


class Pruning(RetentionThread):
    """Begins only where a test names `prune_s`: on a slow machine its first turn would come in the middle of a test."""

    def start(self) -> None:
        if "prune_s" in self._settings.model_fields_set:
            super().start()


def chores(settings: Settings) -> tuple[Chore, ...]:
    """Without the training, except where a test names `train_s`, for the same reason."""
    named = "train_s" in settings.model_fields_set
    return tuple(c for c in main.chores(settings) if named or c.work is not main.train)


def application(settings: Settings, executor: MakesWorker) -> FastAPI:
    """One of its own, with the routes that every application has, and the engine of the database that it names."""
    asked = chores(settings)
    with (
        patch.object(main, "make_engine", engine_of),
        patch.object(main, "RetentionThread", Pruning),
        patch.object(main, "chores", lambda _: asked),
    ):
        app = main.create_app(settings, executor)
    app.router.routes = first_application().router.routes
    return app


@cache
def first_application() -> FastAPI:
    """The one whose routes the others answer with: each of them keeps its state in what a request brings along."""
    return main.create_app(Settings(database_url="sqlite:///never-opened.db"))


@cache
def documented() -> Documented:
    return Documented(first_application().openapi())


@lru_cache(maxsize=2)
def engine_of(url: str) -> Engine:
    """The same for the same database, closed or not: it remembers how each statement is written.

    What a crash of the machine would lose is nobody's question here, so nothing waits for a disk.
    """
    engine = make_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _careless)
    return engine


def upgraded(url: str) -> str:
    """`url`, brought to the newest schema by the migrations."""
    engine = make_engine(url)
    migrate.upgrade(engine)
    engine.dispose()
    return url


def migrated(directory: Path) -> str:
    """The address of a file in `directory`, which is made where there is none."""
    file = directory / "lutra.db"
    if not file.exists():
        file.write_bytes(_empty())
    return f"sqlite:///{file}"


@cache
def _empty() -> bytes:
    """A database that the migrations have made."""
    folder = Path(tempfile.mkdtemp(prefix="lutra-empty-"))
    try:
        upgraded(f"sqlite:///{folder}/lutra.db")
        return (folder / "lutra.db").read_bytes()
    finally:
        shutil.rmtree(folder)


def _careless(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA synchronous=OFF")
