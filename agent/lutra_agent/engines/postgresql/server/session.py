"""The connection that an engine's parts share, and the known facts about the server behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from lutra_models.server import Role

from lutra_agent.engines.common.answers import text, understood
from lutra_agent.engines.common.health import ServerIdentity
from lutra_agent.engines.common.place import Place, located
from lutra_agent.engines.postgresql.server.connect import Connection, grant_monitor
from lutra_agent.engines.postgresql.server.place import place
from lutra_agent.errors import CollectionFailed

IDENTITY = (
    """SELECT current_setting('server_version_num')::int, pg_postmaster_start_time()::text, pg_is_in_recovery()"""
)

OLDEST = 100_000
"""From PostgreSQL 10 on a version is a major and a minor number."""


@dataclass(frozen=True)
class Details(ServerIdentity):
    """`started` changes with each start. `place` is the part of this host that is proven to belong to the server."""

    started: str
    place: Place

    @property
    def data_dir(self) -> Path | None:
        """The folder of this host that holds the server's data."""
        return self.place.folder

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])


class Session:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._details: tuple[int, Details] | None = None

    @understood("which server this is")
    def details(self) -> Details:
        """The role is read each time, the rest again after each connect and each restart of the server."""
        number, started, standby = self.connection.row(IDENTITY)
        role: Role = "standby" if standby else "primary"
        dialled, known = self.connection.generation, self._details
        if known is None or (known[0], known[1].started) != (dialled, str(started)) or known[1].place.unread:
            where = located(lambda: place(self.connection, self._data_dir(), grant_monitor))
            number, pooled = version(int(number)), self.connection.pooled
            details = Details(number, role, self._identifier(), str(started), where, pooled=pooled)
            known = self._details = dialled, details
        return replace(known[1], role=role)

    def _identifier(self) -> str:
        try:
            with understood("identifier"):
                return text(self.connection.row("SELECT system_identifier FROM pg_control_system()")[0])
        except CollectionFailed:
            return ""

    def _data_dir(self) -> Path | None:
        try:
            with understood("data directory"):
                return Path(text(self.connection.row("SELECT current_setting('data_directory')")[0]))
        except CollectionFailed:
            return None  # for superusers and members of pg_read_all_settings


def version(number: int) -> str:
    """`server_version_num` in words: 180000 is 18.0, of a prerelease as well, whatever its packager calls it."""
    if number < OLDEST:
        raise ValueError(f"server_version_num is {number}")
    major, minor = divmod(number, 10_000)
    return f"{major}.{minor}"
