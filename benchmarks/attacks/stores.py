"""`lutra serve` over either store, each in a temporary folder of its own, and what the store takes on the disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from lutra_agent.lab.postgresql import ScratchPostgres

from tests.support.served import Served

DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
STORES = ("sqlite", "postgresql")
UNLIMITED: dict[str, str] = {}
"""Settings of the service that lift its rate limits, for attacks that measure something else from one address."""

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
            return int(self.postgres.psql(f"SELECT pg_database_size('{self.postgres.dbname}')"))
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
    with tempfile.TemporaryDirectory(prefix="lutra-attack-") as name:
        folder = Path(name)
        if store == "sqlite":
            with Served(folder, **(env or {})) as served:
                yield Stored(served, None, folder)
            return
        with tempfile.TemporaryDirectory(prefix="lutra-attack-pg-") as pg:
            bin_dir = DEBIAN_15 if DEBIAN_15.exists() else None
            with ScratchPostgres(Path(pg) / "server", bin_dir, options={"max_connections": "100"}) as postgres:
                with Served(folder, postgres.url(), **(env or {})) as served:
                    yield Stored(served, postgres, folder)
