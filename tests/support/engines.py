"""Real servers as fixtures, each in a temporary folder of its own, started once per session and gone afterwards.

A missing engine fails where CI is set in the environment, and is skipped with the reason elsewhere.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lutra_lab.errors import LabError
from lutra_lab.servers import binaries
from lutra_lab.servers.mariadb import HISTOGRAM, ScratchMariadb
from lutra_lab.servers.mysql import ScratchMysql
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_lab.servers.postgresql import ScratchPostgres

DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
STATEMENTS = {"shared_preload_libraries": "pg_stat_statements", "max_connections": "100"}
PROGRAMS = {
    "postgres15": "postgresql-15 (apt-get install postgresql-15)",
    "sysbench": "sysbench (apt-get install sysbench)",
    "openssl": "openssl (apt-get install openssl)",
}


def missing(what: str) -> None:
    """Fail in CI, skip elsewhere: an engine that is not there never passes for one that works."""
    if os.environ.get("CI"):
        pytest.fail(f"CI is set and this machine lacks {what}")
    pytest.skip(f"this machine lacks {what}")


@contextmanager
def scratch(bin_dir: Path | None = None, **options: str) -> Iterator[ScratchPostgres]:
    """A server of one's own, for tests that break it. Not in `tmp_path`: the server's account may not enter that."""
    directory = Path(tempfile.mkdtemp(prefix="lutra-test-"))
    try:
        with ScratchPostgres(directory / "server", bin_dir, options=options) as server:
            yield server
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def postgres15_bin() -> Path:
    if not (DEBIAN_15 / "postgres").exists():
        missing(PROGRAMS["postgres15"])
    return DEBIAN_15


def postgres18_bin() -> Path:
    try:
        return binaries.embedded()
    except LabError as error:
        missing(str(error))
        raise


def program(name: str) -> str:
    """The path of a program such as sysbench."""
    found = shutil.which(name)
    if found is None:
        missing(PROGRAMS[name])
    assert found is not None
    return found


@pytest.fixture(scope="session")
def postgres18() -> Iterator[ScratchPostgres]:
    """The embedded PostgreSQL 18; no contrib modules."""
    with scratch(postgres18_bin()) as server:
        yield server


@pytest.fixture(scope="session")
def postgres15() -> Iterator[ScratchPostgres]:
    """Debian's PostgreSQL 15 with pg_stat_statements."""
    with scratch(postgres15_bin(), **STATEMENTS) as server:
        server.psql("CREATE EXTENSION pg_stat_statements")
        yield server


POSTGRES: tuple[str, ...] = ("postgres15", "postgres18")


@pytest.fixture(scope="session", params=POSTGRES)
def postgres(request: pytest.FixtureRequest) -> ScratchPostgres:
    """Each PostgreSQL in turn."""
    server = request.getfixturevalue(request.param)
    assert isinstance(server, ScratchPostgres)
    return server


SCRATCH_BINARIES: dict[str, Callable[[], Path]] = {"postgres15": postgres15_bin, "postgres18": postgres18_bin}


@pytest.fixture(params=POSTGRES)
def own_postgres(request: pytest.FixtureRequest) -> Iterator[ScratchPostgres]:
    """Each PostgreSQL in turn, made for this test alone: it may be crashed, misconfigured, restarted."""
    with scratch(SCRATCH_BINARIES[request.param]()) as server:
        yield server


@contextmanager
def scratch_mysqld(kind: type[ScratchMysqld], **options: str) -> Iterator[ScratchMysqld]:
    """A MySQL or MariaDB of one's own."""
    directory = Path(tempfile.mkdtemp(prefix="lutra-test-"))
    try:
        try:
            made = kind(directory / "server", options=options)
        except LabError as error:
            missing(str(error))
            raise
        with made as server:
            yield server
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[ScratchMysqld]:
    """Debian's MariaDB with its histogram of response times."""
    with scratch_mysqld(ScratchMariadb, **HISTOGRAM) as server:
        yield server


@pytest.fixture(scope="session")
def mysql() -> Iterator[ScratchMysqld]:
    """MySQL 9."""
    with scratch_mysqld(ScratchMysql) as server:
        yield server


MYSQLDS: tuple[str, ...] = ("mariadb", "mysql")
SCRATCH_MYSQLDS: dict[str, type[ScratchMysqld]] = {"mariadb": ScratchMariadb, "mysql": ScratchMysql}


@pytest.fixture(scope="session", params=MYSQLDS)
def mysqld(request: pytest.FixtureRequest) -> ScratchMysqld:
    """MariaDB and MySQL in turn."""
    server = request.getfixturevalue(request.param)
    assert isinstance(server, ScratchMysqld)
    return server


@pytest.fixture(params=MYSQLDS)
def own_mysqld(request: pytest.FixtureRequest) -> Iterator[ScratchMysqld]:
    """MariaDB and MySQL in turn, made for this test alone."""
    with scratch_mysqld(SCRATCH_MYSQLDS[request.param]) as server:
        yield server


@pytest.fixture
def empty_postgres_url(postgres18: ScratchPostgres) -> Iterator[str]:
    """A fresh, empty database, as SQLAlchemy spells it: postgresql+psycopg://…; dropped afterwards."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    postgres18.psql(f"CREATE DATABASE {name}")
    try:
        yield postgres18.url(name)
    finally:
        postgres18.psql(f"DROP DATABASE {name} WITH (FORCE)")
