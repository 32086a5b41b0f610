"""A fault that every DBA has met: how a hand makes it on a running server, and which findings name it as the cause."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from lutra_lab.servers.base import ScratchServer, Session
from lutra_lab.servers.errors import LabError
from lutra_models.symptoms import Symptom


@dataclass(frozen=True)
class Scene:
    """A server under a shop's load, for the hand that makes a fault. What is opened here ends with the scene."""

    server: ScratchServer
    folder: Path
    """For files that the fault needs."""
    ends: ExitStack

    def sql(self, statement: str, dbname: str | None = None) -> str:
        """Raises LabError."""
        return self.server.sql(statement, dbname)

    def session(self, dbname: str | None = None) -> Session:
        """A connection that stays open until the scene ends. Raises LabError."""
        return self.ends.enter_context(_kept(self.server.session(dbname)))

    def in_background(self, work: Callable[[], object]) -> None:
        """Work that may hang until the server ends; a server's refusal ends it."""

        def run() -> None:
            with suppress(LabError):
                work()

        threading.Thread(target=run, daemon=True).start()


Make = Callable[[Scene], object]
Treat = Callable[[Scene, Symptom], object]


@dataclass(frozen=True)
class Fault:
    """One thing made wrong. `causes` are the findings that name it; `options` are the server's from its start on.

    `make` breaks the server under the load, before the look of `seconds`: at most 60 where one look suffices, and 600
    where the finding reads rates. `treat` carries out what the finding says, in place of its own cures and statements.
    `treatable` is False where neither Lutra nor a statement makes the fault go away.
    """

    name: str
    family: str
    causes: frozenset[str]
    options: Mapping[str, str] = field(default_factory=dict)
    make: Make | None = None
    seconds: float = 20.0
    treat: Treat | None = None
    treatable: bool = True
    words: tuple[str, ...] = ()
    """Expressions by which another tool's line is known to speak of the fault, beside the names of its options."""
    server: str = ""
    """Of `tests.support.servers.engines.VARIANTS`; empty for the usual one of the file's engine."""

    def __post_init__(self) -> None:
        if not self.causes or not 0 < self.seconds <= 600:
            raise ValueError(f"{self.name}: causes {set(self.causes)}, a look of {self.seconds} s")


class _Kept:
    """A session whose end is no news: the fault may have ended it before."""

    def __init__(self, opened: AbstractContextManager[Session]) -> None:
        self._opened = opened

    def __enter__(self) -> Session:
        return self._opened.__enter__()

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):
            self._opened.__exit__(None, None, None)


def _kept(opened: AbstractContextManager[Session]) -> _Kept:
    return _Kept(opened)
