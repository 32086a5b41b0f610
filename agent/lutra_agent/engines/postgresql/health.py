"""Whether a PostgreSQL server runs, and which one it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lutra_agent.engines.common.health import ServerIdentity
from lutra_agent.engines.postgresql.server.session import Session
from lutra_agent.files.atomic import read_regular

PID_FILE = "postmaster.pid"
LONGEST = 10_000
"""Of that file, in bytes: what a server names may be any file."""


class PostgresHealth:
    programs: tuple[str, ...] = ("postgres", "postmaster")

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

    def process_id(self) -> int | None:
        directory = self.data_dir()
        try:
            return None if directory is None else int(read_regular(directory / PID_FILE, LONGEST)[0].split(b"\n", 1)[0])
        except (OSError, ValueError):
            return None

    def data_dir(self) -> Path | None:
        return self._session.details().data_dir

    def close(self) -> None:
        self._stop()
        self._session.connection.close()
