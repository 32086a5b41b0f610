"""A database to point a driver at, as the agent's configuration gives it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lutra_lab.servers.base import ScratchServer


@dataclass(frozen=True)
class Where:
    host: str = "127.0.0.1"
    port: int = 5432
    user: str = "someone"
    dbname: str = "somewhere"
    secret: str | None = None
    engine: str = "postgresql"
    tls_ca: Path | None = None
    tls_verify: str = "identity"

    @property
    def proved(self) -> bool:
        return self.host.startswith("/") or self.tls_ca is not None

    def password(self) -> str | None:
        return self.secret

    @classmethod
    def of(cls, server: ScratchServer, dbname: str | None = None) -> Where:
        return cls(server.host, server.port, server.user, dbname or server.dbname, engine=server.engine)
