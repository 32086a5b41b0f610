"""The available scratch servers. A new one is one class and one line here."""

from __future__ import annotations

from lutra_models import extensions

from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.mariadb import ScratchMariadb
from lutra_lab.servers.mysql import ScratchMysql
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_lab.servers.redis import ScratchRedis, ScratchValkey

SCRATCH: tuple[type[ScratchServer], ...] = (
    ScratchPostgres,
    ScratchMariadb,
    ScratchMysql,
    ScratchRedis,
    ScratchValkey,
)
"""The first one needs no installation: it comes with this distribution."""


def scratch_servers() -> tuple[type[ScratchServer], ...]:
    """Lutra's own families, and those that other installed packages add."""
    return extensions.extended(SCRATCH, extensions.SCRATCH_SERVERS, lambda kind: kind.engine)


def scratch_of(engine: str) -> type[ScratchServer]:
    """The kind that runs this engine. Raises KeyError."""
    return {kind.engine: kind for kind in scratch_servers()}[engine]
