"""The place of a PostgreSQL server: facts that only the server with this data folder can know."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lutra_agent.engines.common.answers import text, understood
from lutra_agent.engines.common.peer import Peer
from lutra_agent.engines.common.place import Place, Told, parent, place_of
from lutra_agent.engines.postgresql.server.connect import Connection, quoted
from lutra_agent.errors import CollectionFailed
from lutra_agent.files.atomic import read_regular

PROGRAMS = ("postgres", "postmaster")
CONTROL_FILE = Path("global/pg_control")
PID_FILE = "postmaster.pid"
IDENTIFIER, WRITTEN = struct.Struct("=Q"), struct.Struct("=q")
WRITTEN_AT = 24
"""The position in the control file, in bytes, of the time of its last write, in whole seconds."""
LONGEST_CONTROL, LONGEST_PID = 8192, 10_000
STARTED_LINE, PORT_LINE = 2, 3
STARTS_WITHIN_S = 300
"""The time from the line in its file within which a server creates its shared memory."""
LOOKS = 5
"""The number of looks at a file that the server may be writing."""

CONTROL = "SELECT system_identifier, extract(epoch FROM pg_control_last_modified)::bigint FROM pg_control_system()"
START = "SELECT extract(epoch FROM pg_postmaster_start_time())::float8, current_setting('port')::int"
BACKEND = """SELECT pid, extract(epoch FROM backend_start)::float8 FROM pg_stat_activity WHERE pid = pg_backend_pid()"""


@dataclass(frozen=True)
class Control:
    """The owner of the data in a folder, and the time at which the server last recorded it."""

    identifier: int
    written_s: int


def place(connection: Connection, folder: Path | None, grant: Callable[[str], str]) -> Place:
    """`folder` as the server reports it; if it does not, `grant` gives an account the right to know it.

    Raises DatabaseUnavailable and CollectionFailed.
    """
    started_s, port = connection.row(START)
    backend, began_s = connection.row(BACKEND)
    # A pooler has our connection, and the server's process has the pooler's.
    peer = Peer() if connection.pooled else connection.peer()
    named, unnamed = _named(connection, folder, started_s, port, grant)
    server = parent(backend)
    return place_of(Told(PROGRAMS, peer, server, backend, began_s, started_s, folder, named, unnamed))


def control_in(folder: Path) -> Control | None:
    """None if this account may not read it, or it is not a control file."""
    try:
        content = read_regular(folder / CONTROL_FILE, LONGEST_CONTROL)[0]
        return Control(IDENTIFIER.unpack_from(content)[0], WRITTEN.unpack_from(content, WRITTEN_AT)[0])
    except (OSError, struct.error):
        return None


def _named(
    connection: Connection, folder: Path | None, started_s: float, port: int, grant: Callable[[str], str]
) -> tuple[bool | None, str]:
    """Whether the folder's files say what the server says; where that is not known, what it takes to know."""
    account = text(connection.row("SELECT current_user")[0])
    if folder is None:
        return None, grant(account)
    found = _control_is_the_servers(connection, folder)
    if found is None and control_in(folder) is None:
        return None, f"let the agent's account read {folder / CONTROL_FILE}"
    if found is None:
        return None, f"GRANT EXECUTE ON FUNCTION pg_control_system() TO {quoted(account)};"
    lines = begun_and_port(folder / PID_FILE)
    if lines is None:
        return found, ""
    begun, listens = lines
    return found and listens == port and begun - 1 <= started_s <= begun + STARTS_WITHIN_S, ""


def _control_is_the_servers(connection: Connection, folder: Path) -> bool | None:
    """The server may write its file between two looks: then it says what one of them has seen."""
    found = None
    for _ in range(LOOKS):
        before = control_in(folder)
        control = _control(connection)
        after = control_in(folder)
        if control is None or before is None or after is None:
            return None
        found = control in (before, after)
        if found or control.identifier != after.identifier:
            break
    return found


def _control(connection: Connection) -> Control | None:
    try:
        with understood("the control file"):
            identifier, written_s = connection.row(CONTROL)
            return Control(int(identifier), int(written_s))
    except CollectionFailed:
        return None


def begun_and_port(file: Path) -> tuple[int, int] | None:
    """The server's start according to its file, and its port."""
    try:
        lines = read_regular(file, LONGEST_PID)[0].split(b"\n")
        return int(lines[STARTED_LINE]), int(lines[PORT_LINE])
    except (OSError, ValueError, IndexError):
        return None
