"""The connection that an engine's parts share, and the known facts about the server behind it."""

from __future__ import annotations

import configparser
from dataclasses import dataclass
from pathlib import Path

from lutra_models.catalog.rows import version_of
from lutra_models.server import Role

from lutra_agent.engines.common.answers import text, understood
from lutra_agent.engines.common.place import Place, Told, begin_of, group_of, located, place_of
from lutra_agent.engines.mysql.server import replica
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.errors import CollectionFailed, OtherEngine
from lutra_agent.files.atomic import read_regular

NAME_FILE = "auto.cnf"
LONGEST = 1000
"""The size limit of a file with a process number or a server's name, in bytes: a server may name any file."""


@dataclass(frozen=True)
class Product:
    """One of the family's servers. `identifier` is the query whose last column is the server's own name.

    `programs` are the names of the server's process, and `thread` the query for the number of the thread that serves
    the connection. Every version of a `mariadb` server says so.
    """

    family: str
    programs: tuple[str, ...]
    identifier: str
    thread: str
    mariadb: bool = False

    def serves(self, version: str) -> bool:
        """Whether a server with this version text is one of these."""
        return ("mariadb" in version.lower()) is self.mariadb


@dataclass(frozen=True)
class Details:
    """Facts that are constant until the server restarts. `started_s` is an epoch second, None if unknown.

    `place` is the part of this host that is proven to belong to the server.
    """

    version: str
    place: Place
    started_s: float | None
    identifier: str = ""


class Session:
    def __init__(self, connection: Connection, product: Product) -> None:
        self.connection = connection
        self.product = product
        self._details: tuple[int, Details] | None = None

    @understood("which server this is")
    def details(self) -> Details:
        """Read again after each connect: another server may answer then. Raises ConfigError for another's."""
        found = self._details
        if found is None or found[0] != self.connection.generation or found[1].place.unread:
            version = text(self.connection.row("SELECT VERSION()")[0])
            if not self.product.serves(version):
                refusal = f"database.engine = {self.product.family!r}, but the server reports {version}"
                raise OtherEngine("mysql" if self.product.mariadb else "mariadb", refusal)
            version_of(version)
            identifier = self._identifier()
            where = located(lambda: self._place(identifier))
            details = Details(version, where, self._started_s(where), identifier)
            found = self._details = (self.connection.generation, details)
        return found[1]

    def pid_file(self) -> Path:
        """The folder as the server names it."""
        return self._folder_and_pid_file()[1]

    @understood("role")
    def role(self) -> Role:
        if self.connection.row("SELECT @@GLOBAL.read_only")[0]:
            return "standby"
        try:
            return "standby" if replica.channels(self.connection) else "primary"
        except CollectionFailed:
            return "primary"  # as far as this account may know; `permissions` lets nothing be changed then

    def _place(self, identifier: str) -> Place:
        data_dir, pid_file = self._folder_and_pid_file()
        began_s, error_s = begin_of(lambda: float(self.connection.row("SHOW GLOBAL STATUS LIKE 'Uptime'")[1]))
        name = "" if self.product.mariadb else name_in(data_dir)
        return place_of(
            Told(
                self.product.programs,
                self.connection.peer(),
                self._process(pid_file),
                started_s=began_s,
                up_since_s=began_s,
                error_s=error_s,
                folder=data_dir,
                named=name == identifier if name and identifier else None,
                unnamed="" if self.product.mariadb else f"let the agent's account read {data_dir / NAME_FILE}",
            )
        )

    def _folder_and_pid_file(self) -> tuple[Path, Path]:
        data_dir, pid_file = map(text, self.connection.row("SELECT @@GLOBAL.datadir, @@GLOBAL.pid_file"))
        return Path(data_dir), Path(data_dir) / pid_file

    def _started_s(self, where: Place) -> float | None:
        if where.process is None:
            return None
        number, started_s = process(self.pid_file())
        return started_s if number in (None, where.process) else None

    def _process(self, pid_file: Path) -> int | None:
        """The process of the thread that serves us; where the server does not tell it, as in a pool of threads, the one
        that its file names.
        """
        try:
            with understood("the thread that serves the agent"):
                thread = int(self.connection.row(self.product.thread)[0])
        except CollectionFailed:
            thread = 0
        return group_of(thread) if thread > 0 else process(pid_file)[0]

    def _identifier(self) -> str:
        try:
            with understood("identifier"):
                return text(self.connection.row(self.product.identifier)[-1])
        except CollectionFailed:
            return ""


def name_in(data_dir: Path) -> str:
    """The name that the server of these data gives itself; empty without one, or if this account may not know it."""
    file = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        file.read_string(read_regular(data_dir / NAME_FILE, LONGEST)[0].decode(errors="replace"))
        return file["auto"]["server-uuid"]
    except (OSError, KeyError, configparser.Error):
        return ""


def process(pid_file: Path) -> tuple[int | None, float | None]:
    """The server's process id, and the epoch second of its start; None if this account may not see them."""
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
    except (OSError, ValueError):
        return None
