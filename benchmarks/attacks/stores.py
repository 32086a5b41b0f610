"""`lutra serve` over either store, each in a temporary folder of its own, and what the store takes on the disk.

The folders lie in memory where the machine has room there: no attack asks how fast its disk is.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.service.served import Served

DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
STORES = ("sqlite", "postgresql")
IN_MEMORY = Path("/dev/shm")
OPTIONS = {"max_connections": "100"}
ROOM_BYTES = 4 << 30
LIFTED = {"LUTRA_REQUESTS_PER_S": "100000", "LUTRA_ANONYMOUS_PER_S": "100000", "LUTRA_DAILY_BYTES": str(1 << 40)}
"""The service's rate limits and quota, far above what is sent: 429 would hide every other answer."""

store_option = click.option("--store", type=click.Choice(STORES), default="sqlite", show_default=True)
out_option = click.option("--out", type=click.Path(path_type=Path), help="Append the JSON row here. [default: print]")
env_option = click.option("--env", multiple=True, help="NAME=VALUE for the service's environment; may be repeated.")


@dataclass
class Stored:
    """A running service, its store's server where there is one, and its folder."""

    served: Served
    postgres: ScratchPostgres | None
    folder: Path

    def disk_bytes(self) -> int:
        if self.postgres is not None:
            return int(self.postgres.sql(f"SELECT pg_database_size('{self.postgres.dbname}')"))
        return sum(file.stat().st_size for file in self.folder.glob("lutra.db*"))


def environment(pairs: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` words as a dictionary. Raises BadParameter."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise click.BadParameter(f"expected NAME=VALUE, got {pair!r}", param_hint="--env")
        found[name] = value
    return found


@contextmanager
def stored(store: str, env: Mapping[str, str] | None = None) -> Iterator[Stored]:
    """A fresh service over a fresh store."""
    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder())
        postgres = stack.enter_context(scratch_postgres()) if store == "postgresql" else None
        url = None if postgres is None else postgres.url()
        yield Stored(stack.enter_context(Served(folder, url, **(env or {}))), postgres, folder)


@contextmanager
def scratch_postgres() -> Iterator[ScratchPostgres]:
    bin_dir = DEBIAN_15 if DEBIAN_15.exists() else None
    with scratch_folder() as folder, ScratchPostgres(folder / "server", programs=bin_dir, options=OPTIONS) as server:
        yield server


@contextmanager
def store_url(store: str) -> Iterator[str]:
    """Of an empty store that is gone afterwards."""
    if store == "postgresql":
        with scratch_postgres() as server:
            yield server.url()
    else:
        with scratch_folder() as folder:
            yield f"sqlite:///{folder}/lutra.db"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    in_memory = IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > ROOM_BYTES
    folder = Path(tempfile.mkdtemp(prefix="lutra-attack-", dir=IN_MEMORY if in_memory else None))
    folder.chmod(0o755)  # a database server runs under an account of its own
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
