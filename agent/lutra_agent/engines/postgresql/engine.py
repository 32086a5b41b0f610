"""PostgreSQL, as the agent sees it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.health import ServerIdentity, Traces
from lutra_agent.engines.common.place import Place
from lutra_agent.engines.postgresql.server.connect import Connection
from lutra_agent.engines.postgresql.server.place import PROGRAMS, control_in
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase
from lutra_agent.engines.postgresql.server.session import Session
from lutra_agent.engines.postgresql.source import PostgresSource
from lutra_agent.engines.postgresql.telemetry.ages.sampler import Sampler
from lutra_agent.engines.postgresql.telemetry.log.reader import LogReader
from lutra_agent.engines.postgresql.telemetry.telemetry import PostgresTelemetry
from lutra_agent.files.atomic import read_regular

PID_FILE = "postmaster.pid"
STATUS_LINE, STOPPING = 7, b"stopping"
"""The line of that file with the server's state."""
LONGEST = 10_000
"""The size limit of that file, in bytes: a server may name any file."""
OPTIONS_FILE = "postmaster.opts"
"""Written by each start, once the server has its memory and its port."""
CONTROL_FILE = Path("global/pg_control")
STATE_AT, STATE = 16, struct.Struct("=i")
SHUT_DOWN = (1, 2)
"""The states in that file after a shutdown, as a primary or as a standby."""

FAMILY = "postgresql"


def open_postgresql(database: PostgresqlDatabase) -> Engine:
    """Connects lazily."""
    session = Session(Connection(database))
    sampler = Sampler(Connection(database)) if database.watch_transactions else None
    source = PostgresSource(session, FAMILY)
    log = LogReader(database.server_log) if database.read_log else None
    health = PostgresHealth(session) if sampler is None else PostgresHealth(session, sampler.stop)
    return Engine(FAMILY, health, PostgresTelemetry(session, sampler, log), (source,))


class PostgresHealth:
    programs: tuple[str, ...] = PROGRAMS
    managers: tuple[str, ...] = ("patroni", "pg_autoctl", "repmgrd", "stolon-keeper")

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

    def traces(self) -> Traces:
        folder = self.place().folder
        return Traces() if folder is None else Traces((folder / PID_FILE,), starts=(folder / OPTIONS_FILE,))

    def was_shut_down(self, traces: Traces) -> bool | None:
        """An immediate shutdown and a start that failed both remove the file, and leave the control file as it was."""
        if not traces.running:
            return None
        try:
            lines = read_regular(traces.running[0], LONGEST)[0].split(b"\n")
            return len(lines) > STATUS_LINE and lines[STATUS_LINE].strip() == STOPPING
        except FileNotFoundError:
            return True if _control_state(traces.running[0].parent) in SHUT_DOWN else None
        except OSError:
            return None

    def close(self) -> None:
        self._stop()
        self._session.connection.close()


def _control_state(folder: Path) -> int | None:
    """What the server wrote into its control file last; None if this account may not read it."""
    try:
        return int(STATE.unpack_from(read_regular(folder / CONTROL_FILE, LONGEST)[0], STATE_AT)[0])
    except (OSError, struct.error):
        return None
