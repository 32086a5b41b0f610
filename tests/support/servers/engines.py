"""Real servers as fixtures, each in a temporary folder of its own, started once per session and gone afterwards.

A missing engine fails where CI is set in the environment, and is skipped with the reason elsewhere.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

import pytest
from lutra_lab.scratch import scratch_servers
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.binaries import embedded
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.mariadb import HISTOGRAM
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_lab.servers.redis import ROOT as VALKEY_ROOT
from lutra_lab.servers.redis import ScratchRedis, ScratchValkey

from tests.support.pika.real import PROGRAM as REAL_PIKA
from tests.support.pika.real import RealPika
from tests.support.pika.scratch import RecordedPika
from tests.support.pytest_plugins.leftovers import NEW_SERVERS

DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
STATEMENTS = {"shared_preload_libraries": "pg_stat_statements", "max_connections": "100"}
CARELESS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "100",
    "autovacuum": "off",
}
OWN_NAME = "auto.cnf"
"""The file in which a server keeps an identity that no other has; it makes one where there is none."""
NEEDED = {
    "sysbench": "sysbench (apt-get install sysbench)",
    "redis-server": "redis-server (apt-get install redis-server)",
    "redis-benchmark": "redis-benchmark (apt-get install redis-tools)",
    "pgbouncer": "pgbouncer (apt-get install pgbouncer)",
    "openssl": "openssl (apt-get install openssl)",
}
OTHER_STORES: Mapping[str, tuple[type[ScratchServer], Callable[[], Path | None]]] = {
    Path(root).name: (kind, partial(Path, root))
    for root in os.environ.get("LUTRA_STORE_ROOTS", "").split(":")
    for kind in (ScratchRedis, ScratchValkey)
    if root and (Path(root) / kind.program).exists()
}
"""Further versions of Redis and Valkey: LUTRA_STORE_ROOTS names folders, colons between, whose usr/bin holds one."""
VARIANTS: Mapping[str, tuple[type[ScratchServer], Callable[[], Path | None]]] = {
    **{kind.engine: (kind, lambda: None) for kind in scratch_servers()},
    "postgres18": (ScratchPostgres, lambda: None),
    "postgres16": (ScratchPostgres, lambda: embedded().parent.parent / "pginstall" / "bin"),
    "postgres15": (ScratchPostgres, lambda: DEBIAN_15),
    "redis8": (ScratchRedis, lambda: VALKEY_ROOT),
    "pika": (RecordedPika, lambda: None),
    "real pika": (RealPika, lambda: None),
    **OTHER_STORES,
}
"""The servers that tests ask for by name: an engine's usual one, or a version of it; with its programs' folder."""
POSTGRES: tuple[str, ...] = ("postgres15", "postgres18")
MYSQLDS: tuple[str, ...] = ("mariadb", "mysql")
PIKAS: tuple[str, ...] = ("pika", "real pika") if REAL_PIKA else ("pika",)
"""The recorded one, and where LUTRA_PIKA_BIN names a program, that."""


def missing(what: str) -> None:
    """Fail in CI, skip elsewhere: an engine that is not there never passes for one that works."""
    if os.environ.get("CI"):
        pytest.fail(f"CI is set and this machine lacks {what}")
    pytest.skip(f"this machine lacks {what}")


def program(name: str) -> str:
    """The path of a program such as sysbench."""
    found = shutil.which(name)
    if found is None:
        missing(NEEDED[name])
    assert found is not None
    return found


def installed(name: str) -> Path:
    """Its programs' folder; the test is skipped, or fails in CI, where this machine lacks it."""
    kind, programs = VARIANTS[name]
    try:
        return kind.find(programs())
    except LabError as error:
        missing(str(error))
        raise


def made(name: str, directory: Path, port: int | None = None, **options: str) -> ScratchServer:
    """A server in this folder, not started yet. Its new data are a copy of those of the first of its name."""
    return _copying(name)(directory, port, options, installed(name))


@cache
def _copying(name: str) -> type[ScratchServer]:
    """The server of this name, of which one alone in a run makes data by its own program, which takes that seconds."""
    kind, _ = VARIANTS[name]
    first = Path(tempfile.gettempdir()) / NEW_SERVERS / name

    def make_data(self: ScratchServer, argv: Sequence[str]) -> None:
        first.parent.mkdir(mode=0o700, exist_ok=True)
        with first.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # whoever comes meanwhile waits for these data
            if not first.exists():
                kind._make_data(self, argv)
                (self.data_dir / OWN_NAME).unlink(missing_ok=True)
                making = first.with_suffix(".new")
                copy(self.data_dir, making)
                making.rename(first)
                return
        copy(first, self.data_dir)

    return type(kind.__name__, (kind,), {"_make_data": make_data})


def copy(data: Path, to: Path) -> None:
    """With its owner and its modes."""
    subprocess.run(["cp", "-a", "--sparse=auto", "-T", str(data), str(to)], check=True)


@contextmanager
def scratch(name: str, **options: str) -> Iterator[ScratchServer]:
    """A server of one's own, for tests that break it. Not in `tmp_path`: the server's account may not enter that."""
    directory = Path(tempfile.mkdtemp(prefix="lutra-test-"))
    try:
        with made(name, directory / "server", None, **options) as server:
            yield server
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres18() -> Iterator[ScratchServer]:
    """The embedded PostgreSQL 18; no contrib modules."""
    with scratch("postgres18") as server:
        yield server


@pytest.fixture(scope="session")
def postgres15() -> Iterator[ScratchServer]:
    """Debian's PostgreSQL 15 with pg_stat_statements."""
    with scratch("postgres15", **STATEMENTS) as server:
        server.sql("CREATE EXTENSION pg_stat_statements")
        yield server


@pytest.fixture(scope="session", params=POSTGRES)
def postgres(request: pytest.FixtureRequest) -> ScratchPostgres:
    """Each PostgreSQL in turn."""
    server: ScratchPostgres = request.getfixturevalue(request.param)
    return server


@pytest.fixture
def own_postgres() -> Iterator[ScratchServer]:
    """A PostgreSQL 18 made for this test alone: it may be crashed, misconfigured, restarted.

    One version does: what differs between them, the conformance suite asks of each.
    """
    with scratch("postgres18") as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[ScratchServer]:
    """Debian's MariaDB with its histogram of response times."""
    with scratch("mariadb", **HISTOGRAM) as server:
        yield server


@pytest.fixture(scope="session")
def mysql() -> Iterator[ScratchServer]:
    """MySQL 9."""
    with scratch("mysql") as server:
        yield server


@pytest.fixture(scope="session", params=MYSQLDS)
def mysqld(request: pytest.FixtureRequest) -> ScratchMysqld:
    """MariaDB and MySQL in turn."""
    server: ScratchMysqld = request.getfixturevalue(request.param)
    return server


@pytest.fixture(params=MYSQLDS)
def own_mysqld(request: pytest.FixtureRequest) -> Iterator[ScratchServer]:
    """MariaDB and MySQL in turn, made for this test alone."""
    with scratch(request.param) as server:
        yield server


@pytest.fixture(scope="session")
def store_postgres() -> Iterator[ScratchServer]:
    """A PostgreSQL 18 for the service's rows; what a crash of the machine would lose is nobody's question here."""
    with scratch("postgres18", **CARELESS) as server:
        yield server


@pytest.fixture
def empty_postgres_url(store_postgres: ScratchPostgres) -> Iterator[str]:
    """A fresh, empty database, as SQLAlchemy spells it: postgresql+psycopg://…; dropped afterwards."""
    with a_database(store_postgres) as url:
        yield url


@contextmanager
def a_database(server: ScratchPostgres) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex[:12]}"
    server.sql(f"CREATE DATABASE {name} STRATEGY FILE_COPY")
    try:
        yield server.url(name)
    finally:
        server.sql(f"DROP DATABASE {name} WITH (FORCE)")
