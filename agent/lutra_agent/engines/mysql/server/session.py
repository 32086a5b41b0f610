"""The connection that an engine's parts share, and what is known of the server behind it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lutra_models.catalog.rows import version_of
from lutra_models.server import Role

from lutra_agent.engines.common.answers import text, understood
from lutra_agent.engines.mysql.server import replica
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.errors import CollectionFailed, ConfigError
from lutra_agent.files.atomic import read_regular

LONGEST = 100
"""Of a file with a process's number, in bytes: what a server names may be any file."""


@dataclass(frozen=True)
class Product:
    """One of the family's servers. `identifier` is the query whose last column is the server's own name.

    `programs` are what the server's process is called. Every version of a `mariadb` server says so.
    """

    family: str
    programs: tuple[str, ...]
    identifier: str
    mariadb: bool = False

    def serves(self, version: str) -> bool:
        """Whether a server that calls its version so is one of these."""
        return ("mariadb" in version.lower()) is self.mariadb


@dataclass(frozen=True)
class Details:
    """What stays the same until the server restarts. `started_s` is an epoch second, None where nobody knows."""

    version: str
    data_dir: Path
    pid: int | None
    started_s: float | None
    identifier: str = ""


class Session:
    def __init__(self, connection: Connection, product: Product) -> None:
        self.connection = connection
        self.product = product
        self._details: tuple[int, Details] | None = None

    @understood("which server this is")
    def details(self) -> Details:
        """Read again after each dial: what answers then may be another server. Raises ConfigError for another's."""
        query = "SELECT VERSION(), @@GLOBAL.datadir, @@GLOBAL.pid_file"
        if self._details is None or self._details[0] != self.connection.generation:
            version, data_dir, pid_file = map(text, self.connection.row(query))
            if not self.product.serves(version):
                raise ConfigError(f"database.engine = {self.product.family!r}, but the server calls itself {version}")
            version_of(version)
            pid, started_s = process(Path(data_dir) / pid_file)
            details = Details(version, Path(data_dir), pid, started_s, self._identifier())
            self._details = (self.connection.generation, details)
        return self._details[1]

    @understood("role")
    def role(self) -> Role:
        if self.connection.row("SELECT @@GLOBAL.read_only")[0]:
            return "standby"
        try:
            return "standby" if replica.channels(self.connection) else "primary"
        except CollectionFailed:
            return "primary"  # as far as this account may know; `permissions` lets nothing be changed then

    def _identifier(self) -> str:
        try:
            with understood("identifier"):
                return text(self.connection.row(self.product.identifier)[-1])
        except CollectionFailed:
            return ""


def process(pid_file: Path) -> tuple[int | None, float | None]:
    """The server's process id, and the epoch second of its start; None where this account may not know."""
    return _pid(pid_file), _started_s(pid_file)


def _pid(file: Path) -> int | None:
    try:
        return int(read_regular(file, LONGEST)[0])
    except (OSError, ValueError):
        return None


def _started_s(pid_file: Path) -> float | None:
    # The server writes it once it has read its options, by the clock that the agent's lines are written by. The
    # kernel's own time of a process's start is off by up to a second.
    try:
        return pid_file.stat().st_mtime
    except OSError:
        return None
