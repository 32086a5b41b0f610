"""The connection that an engine's parts share, and what is known of the server behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
from lutra_models.catalog.rows import Version, version_of
from lutra_models.server import Role

from lutra_agent.config.types import is_loopback
from lutra_agent.engines.common.answers import understood
from lutra_agent.engines.redis.server.allocator import defragments
from lutra_agent.engines.redis.server.connect import Connection, NotPermitted
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.errors import CollectionFailed, ConfigError
from lutra_agent.files.atomic import real

Info = Mapping[str, str]
UNKNOWN = "unknown command"
NO_CONFIG = (
    "the server has no CONFIG command (it was renamed, or the service that hosts it has none): "
    "the agent observes what INFO tells, and changes nothing"
)
SINCE_MANY = (7, 0)
"""From here on CONFIG SET takes several settings, all of them or none."""


@dataclass(frozen=True)
class Product:
    """One of the family's servers. `programs` are what its process is called.

    `version` is the key of INFO under which it says its own version, which no other product has, unless it has one of
    From `several_since` on CONFIG SET takes several settings.
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
    """What stays the same until the server restarts. `pid` is None where the server is not on this host.

    `data_dir` is where the data are, and `config_file` the file that it was started with: None where there is none or
    this host does not have it. `account` is the user id of the server's process and of who answers on the connection:
    None where they differ, or nobody knows. `defragments`: it can move values together.
    """

    version: str
    pid: int | None
    data_dir: Path | None
    config_file: Path | None
    started_with_file: bool
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
        """Read again after each dial: what answers then may be another server. Raises ConfigError for another's."""
        if self._details is None or self._details[0] != self.connection.generation:
            found = self._read(self.info("server"))
            self._details = (self.connection.generation, found)
        return self._details[1]

    def objection(self, owner: int) -> str:
        """Why a settings file of this owner is not to be written; empty where it is.

        Whoever took the port, while the server was down, may name any file of the host. It leads no further than to
        files that are its own already.
        """
        details = self.details()
        if self.database.config_file is not None or owner == details.account:
            return ""
        named = f"{details.config_file}: the server alone names this file, and it is not known to be the server's own"
        return f"{named}: write it into the agent's file, as database.config_file"

    def settings(self) -> Mapping[str, str]:
        """Every setting by name; none where this account, or nobody, may ask for them: INFO tells the rest."""
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

    def role(self) -> Role:
        return "primary" if self.info("replication").get("role", "master") == "master" else "standby"

    def _read(self, info: Info) -> Details:
        version = self._version(info)
        version_of(version)
        pid = self._process(info.get("process_id", ""))
        file = info.get("config_file", "")
        data = None
        if pid is not None:
            try:
                data = self._data_dir(pid)
            except CollectionFailed:  # an account without CONFIG GET may still watch
                data = None
        named = self.database.config_file or (_of_process(pid, file) if pid is not None and file else None)
        with_file = bool(file) or self.database.config_file is not None
        allocator = self.info("memory").get("mem_allocator", "")
        able = defragments(allocator, pid, info.get("executable", ""))
        return Details(version, pid, data, named, with_file, self._account(pid), able)

    def _version(self, info: Info) -> str:
        product = self.product
        theirs = next((name for name in product.others if name in info), None)
        keydb = info.get("executable", "").endswith("keydb-server")
        if product.version in info and theirs is None and not keydb:
            return info[product.version]
        who = theirs or next((n for n in info if n.endswith("_version") and n != "gcc_version"), "no version")
        raise ConfigError(f"database.engine = {product.name!r}, but the server tells {who} {info.get(who, '')}".strip())

    def _process(self, text: str) -> int | None:
        """The server's process, where it is one of this host's: a container's number is another one's here."""
        d = self.database
        if not (d.by_socket or is_loopback(d.host)) or not text.isdigit():
            return None
        try:
            process = psutil.Process(int(text))
            names = {process.name(), *(Path(a).name for a in process.cmdline())}
        except psutil.Error:
            return None
        return process.pid if names & set(self.product.programs) else None

    def _account(self, pid: int | None) -> int | None:
        if pid is None:
            return None
        try:
            accounts = set(psutil.Process(pid).uids())
        except psutil.Error:
            return None
        return accounts.pop() if accounts == {self.connection.account()} else None

    def _data_dir(self, pid: int) -> Path | None:
        found = self.connection.pairs("CONFIG", "GET", self.product.data).get(self.product.data)
        return None if found is None else _of_process(pid, found)


def parsed(text: str) -> dict[str, str]:
    """The lines `name:value` of INFO; others say nothing here."""
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
