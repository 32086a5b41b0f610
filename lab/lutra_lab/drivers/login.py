"""How a load generator logs in: at what database, and with a password that no other account can read."""

from __future__ import annotations

import os
from pathlib import Path

from lutra_agent.engines.common.database import Database, NamedDatabase
from lutra_agent.engines.postgresql.server.tls import tls
from lutra_agent.errors import ConfigError, DriverFailed

CAUTIOUS_LIBPQ = 16
"""From this version on libpq has an option to refuse to send a password in clear text."""


def libpq_environment(database: Database, folder: Path, libpq: int = 0) -> dict[str, str]:
    """The environment with the password, if there is one, in a file of `folder` that only this account can read.

    `libpq` is the version of the client's, if known: from 16 on it does not send a password in clear text. Raises
    DriverFailed if an older one would send the password to any program that listens on the port.
    """
    environment = {**os.environ, "PGCONNECT_TIMEOUT": os.environ.get("PGCONNECT_TIMEOUT", "10")}
    environment |= {f"PG{k.upper().replace('_', '')}": v for k, v in tls(database).items()}
    password = database.password()
    if password is not None:
        if libpq < CAUTIOUS_LIBPQ:
            require_proved(database)
        file = folder / "pgpass"
        file.touch(mode=0o600)
        fields = ("*", "*", "*", database.user, password)
        file.write_text(":".join(f.replace("\\", "\\\\").replace(":", "\\:") for f in fields) + "\n")
        environment.pop("PGPASSWORD", None)
        environment["PGPASSFILE"] = str(file)
    return environment


def require_named(database: Database, driver: str) -> NamedDatabase:
    """Raises ConfigError for an engine whose clients name no database."""
    if not isinstance(database, NamedDatabase):
        raise ConfigError(f"driver.kind: {driver} connects to a database by its name, and {database.engine!r} has none")
    return database


def require_proved(database: Database) -> None:
    """Raises DriverFailed if nothing proves that the server itself would be given the password."""
    if not database.proved:
        how = "name the server's socket as database.host"
        raise DriverFailed(
            f"this client might send the password in clear text to any program that listens on the port: {how}"
        )
