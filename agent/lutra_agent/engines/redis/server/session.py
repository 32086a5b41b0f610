"""The connection that an engine's parts share, and the known facts about the server behind it."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
from lutra_models.catalog.rows import Version, version_of
from lutra_models.server import Role

from lutra_agent.config.types import is_loopback
from lutra_agent.engines.common.answers import number_in, understood
from lutra_agent.engines.common.place import Place, Told, begin_of, located, place_of, sees
from lutra_agent.engines.redis.server.connect import Connection, NotPermitted
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.errors import CollectionFailed, OtherEngine
from lutra_agent.files.atomic import read_regular, real

Info = Mapping[str, str]
UNKNOWN = "unknown command"
BUSY = "BUSY "
NO_CONFIG = (
    "the server has no CONFIG command (it was renamed, or the hosting service has none): "
    "the agent observes it through INFO, and changes nothing"
)
SINCE_MANY = (7, 0)
"""From this version on CONFIG SET takes several settings, all of them or none."""
LIBRARY = b"libjemalloc.so"
"""A program that needs the system's library was not built with its own."""
LONGEST = 64 << 20
"""The size limit of a program, in bytes: a server may name any file."""


@dataclass(frozen=True)
class Product:
    """One of the family's servers. `programs` are the names of its process.

    `version` is the key of INFO for its own version, which no other product has, unless it has one of From
    `several_since` on CONFIG SET takes several settings.
    """

    name: str
    programs: tuple[str, ...]
    version: str
    others: tuple[str, ...]
    data: str
    sections: str
    several_since: Version | None


PRODUCTS: Mapping[str, Product] = {
    p.name: p
    for p in (
        Product(
            "redis",
            ("redis-server",),
            "redis_version",
            ("valkey_version", "pika_version", "dragonfly_version", "kvrocks_version"),
            "dir",
            "everything",
            SINCE_MANY,
        ),
        Product("valkey", ("valkey-server",), "valkey_version", (), "dir", "everything", (7, 2)),
        Product("pika", ("pika",), "pika_version", (), "db-path", "all", None),
    )
}


@dataclass(frozen=True)
class Details:
    """Facts that are constant until the server restarts. `place` is the place on this host that is proven to be the
    server's.

    `config_file` is the file that it was started with: None if there is none or this host does not have it.
    `keeps_file`: changes go into that file too; they do not if it is on another host or in a container. `account` is
    the user id of the server's process and of the process that answers on the connection: None if they differ or are
    unknown. `defragments`: it can defragment its memory.
    """

    version: str
    place: Place
    config_file: Path | None
    keeps_file: bool
    account: int | None
    defragments: bool


class Session:
    def __init__(self, database: RedisDatabase, product: Product) -> None:
        self.database = database
        self.connection = Connection(database)
        self.product = product
        self._details: tuple[int, Details] | None = None

    @property
    def several(self) -> bool:
        """Whether CONFIG SET takes several settings at once: all of them, or none."""
        since = self.product.several_since
        return since is not None and version_of(self.details().version) >= since

    @understood("which server this is")
    def details(self) -> Details:
        """Read again after each connect: another server may answer then. Raises ConfigError for another's."""
        known = self._details
        if known is None or known[0] != self.connection.generation or known[1].place.unread:
            try:
                found = self._read(self.info("server"))
            except CollectionFailed as error:
                if not is_busy(error):
                    raise
                greeting = self._greeting()
                self._product_of(greeting)
                return Details(greeting["version"], Place(doubt=str(error), unread=True), None, False, None, False)
            known = self._details = (self.connection.generation, found)
        return known[1]

    def objection(self, owner: int) -> str:
        """The reason why a settings file of this owner must not be written; empty if it may be.

        A program that took the port while the server was down may name any file of the host. It can lead only to files
        that it already owns.
        """
        details = self.details()
        if self.database.config_file is not None or owner == details.account:
            return ""
        named = f"{details.config_file}: only the server names this file, and it is not proven to belong to the server"
        return f"{named}: write it into the agent's file, as database.config_file"

    def settings(self) -> Mapping[str, str]:
        """Every setting by name; none if this account, or no account, may read them: INFO has the rest."""
        try:
            return self.connection.pairs("CONFIG", "GET", "*")
        except CollectionFailed as error:
            if isinstance(error, NotPermitted) or UNKNOWN in str(error):
                return {}
            raise

    @property
    def lacks_config(self) -> bool:
        """Whether the server has no CONFIG command: it was renamed, or the server is a hosted one."""
        try:
            self.connection.ask("CONFIG", "GET", "maxmemory")
        except NotPermitted:
            return False
        except CollectionFailed as error:
            return UNKNOWN in str(error)
        return False

    def info(self, section: str) -> dict[str, str]:
        return parsed(self.connection.text("INFO", section))

    def left_behind(self) -> tuple[Path, ...]:
        """The files of this host that the server has while it runs, and removes when it is shut down."""
        return tuple(filter(None, map(self._named_by, ("pidfile", "unixsocket"))))

    def log(self) -> Path | None:
        """The file of this host to which the server logs."""
        return self._named_by("logfile")

    def _named_by(self, setting: str) -> Path | None:
        pid = self.details().place.process
        path = None if pid is None else self.connection.pairs("CONFIG", "GET", setting).get(setting)
        return _of_process(pid, path) if pid is not None and path else None

    def role(self) -> Role:
        try:
            role = self.info("replication").get("role", "master")
        except CollectionFailed as error:
            if not is_busy(error):
                raise
            role = self._greeting().get("role", "master")
        return "primary" if role == "master" else "standby"

    def _greeting(self) -> dict[str, str]:
        """What a server tells whose script keeps it busy: its name, version and role."""
        return self.connection.pairs("HELLO")

    def _product_of(self, greeting: Info) -> None:
        """Raises ConfigError for another's."""
        reported = greeting.get("server", "")
        if reported != self.product.name:
            message = f"database.engine = {self.product.name!r}, but the server is {reported!r}"
            raise OtherEngine(reported if reported in PRODUCTS else "", message)

    def _read(self, info: Info) -> Details:
        version, where = self._version(info), located(lambda: self._place(info))
        version_of(version)
        process, file = where.process, info.get("config_file", "")
        named, with_file = None, process is not None and (bool(file) or self.database.config_file is not None)
        if process is not None and with_file:
            named = self.database.config_file or _of_process(process, file)
        if process is not None and named is not None and sees(process, named.parent) is False:
            named, with_file = None, False
        allocator = self.info("memory").get("mem_allocator", "")
        able = defragments(allocator, process, info.get("executable", ""))
        return Details(version, where, named, with_file, self._account(process), able)

    def _version(self, info: Info) -> str:
        product = self.product
        theirs = next((name for name in product.others if name in info), None)
        keydb = info.get("executable", "").endswith("keydb-server")
        if product.version in info and theirs is None and not keydb:
            return info[product.version]
        who = theirs or next((n for n in info if n.endswith("_version") and n != "gcc_version"), "no version")
        name = who.removesuffix("_version")
        raise OtherEngine(
            name if name in PRODUCTS and not keydb else "",
            f"database.engine = {product.name!r}, but the server reports {who} {info.get(who, '')}".strip(),
        )

    def _place(self, info: Info) -> Place:
        d, number = self.database, info.get("process_id", "")
        here = d.by_socket or is_loopback(d.host)
        process = int(number) if here and number.isdecimal() else None
        began_s, error_s = begin_of(self._uptime)
        peer, folder, programs = self.connection.peer(), self._data_dir(process), self.product.programs
        return place_of(Told(programs, peer, process, None, began_s, began_s, folder, error_s=error_s))

    def _uptime(self) -> float:
        """In seconds; of a server that does not tell it, a time in which none can have begun."""
        reported = number_in(self.info("server").get("uptime_in_seconds"))
        return math.inf if reported is None else reported

    def _account(self, pid: int | None) -> int | None:
        if pid is None:
            return None
        try:
            accounts = set(psutil.Process(pid).uids())
        except psutil.Error:
            return None
        return accounts.pop() if accounts == {self.connection.peer().account} else None

    def _data_dir(self, pid: int | None) -> Path | None:
        try:
            found = self.connection.pairs("CONFIG", "GET", self.product.data).get(self.product.data)
        except CollectionFailed:  # an account without CONFIG GET may still watch
            return None
        return None if found is None or pid is None else _of_process(pid, found)


def is_busy(error: Exception) -> bool:
    """Whether a script or a function that runs for too long keeps the server from all other commands."""
    return str(error).startswith(BUSY)


def parsed(text: str) -> dict[str, str]:
    """The lines `name:value` of INFO; others are ignored."""
    pairs = (line.partition(":") for line in text.splitlines() if not line.startswith("#"))
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def _of_process(pid: int, path: str) -> Path | None:
    """An absolute path; a relative one is the server's working directory's."""
    if path.startswith("/"):
        return Path(path)
    try:
        return real(Path(psutil.Process(pid).cwd()) / path)
    except (psutil.Error, OSError):
        return None


def defragments(allocator: str, pid: int | None, executable: str) -> bool:
    """`allocator` and `executable` are the server's report. A program that this host lacks is assumed to have that
    ability.

    Distributions' packages usually lack it: they refuse the setting, and do not start with it in their file.
    """
    if not allocator.startswith("jemalloc"):
        return False
    for path in _programs(pid, executable):
        try:
            return LIBRARY not in read_regular(real(path), LONGEST)[0]
        except OSError:
            continue
    return True


def _programs(pid: int | None, executable: str) -> Iterator[Path]:
    if pid is None:
        return
    told = Path(executable)
    yield told
    try:
        running = Path(psutil.Process(pid).exe())
    except psutil.Error:
        running = told
    # A loader that runs the program has another name.
    if running.name == told.name:
        yield running
    if found := shutil.which(told.name):
        yield Path(found)
