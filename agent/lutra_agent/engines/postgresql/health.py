"""Whether a PostgreSQL server runs, and which one it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lutra_agent.engines.common.health import ServerIdentity
from lutra_agent.engines.common.place import Place
from lutra_agent.engines.postgresql.server.place import PROGRAMS, control_in
from lutra_agent.engines.postgresql.server.session import Session


class PostgresHealth:
    programs: tuple[str, ...] = PROGRAMS

    def __init__(self, session: Session, stop: Callable[[], None] = lambda: None) -> None:
        """`stop` ends what else is connected to the server."""
        self._session = session
        self._stop = stop

    def ping(self) -> None:
        self._session.connection.row("SELECT 1")

    def started(self) -> str:
        return str(self._session.connection.row("SELECT pg_postmaster_start_time()::text")[0])

    def identity(self) -> ServerIdentity:
        return self._session.details()

    def place(self) -> Place:
        return self._session.details().place

    def name_in(self, folder: Path) -> str:
        found = control_in(folder)
        return "" if found is None else f"system identifier {found.identifier}"

    def close(self) -> None:
        self._stop()
        self._session.connection.close()
