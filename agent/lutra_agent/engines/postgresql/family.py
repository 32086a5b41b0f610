from __future__ import annotations

import os
from pathlib import Path

from lutra_agent.engines.common.account import Accounts
from lutra_agent.engines.common.address import ENCODE, Addresses, Table
from lutra_agent.engines.common.engine import Engine, Family, needs_extra
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase
from lutra_agent.errors import ConfigError

FOLDERS = ("/run/postgresql", "/var/run/postgresql", "/tmp")  # noqa: S108
VERIFIED = {"verify-full": "identity", "verify-ca": "ca"}
ROOT = Path("~/.postgresql/root.crt")
"""libpq's default path of the authority."""


def table(address: str) -> Table:
    """Missing parts of the URL come from the service file and from libpq's variables.

    An option without a key in the table becomes a variable of this process, and libpq reads it when it connects.
    """
    with needs_extra("postgresql"):
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
        from psycopg.pq import Conninfo
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(address).items()}
    except ProgrammingError as error:
        raise ConfigError(f"{address} is not a PostgreSQL URL ({' '.join(str(error).split())}): {ENCODE}") from None
    for option in Conninfo.get_defaults():
        name = option.keyword.decode()
        if option.envvar and name in given:
            os.environ[option.envvar.decode()] = given[name]
    defaults = {o.keyword.decode(): o.val.decode() for o in Conninfo.get_defaults() if o.val}
    known = {**defaults, **given}
    port = known.get("port", "")
    if not port.isdecimal() or "," in known.get("host", ""):
        raise ConfigError(f"{address}: name one server, got host {known.get('host')!r} and port {port!r}")
    return {
        "host": known.get("host") or known.get("hostaddr") or _local(port),
        "port": int(port),
        "user": known["user"],
        "dbname": known.get("dbname") or known["user"],
        **_tls(known.get("sslmode", ""), known.get("sslrootcert", "")),
    }


def _local(port: str) -> str:
    """The folder of the socket; a port of this host where there is none."""
    return next((folder for folder in FOLDERS if Path(folder, f".s.PGSQL.{port}").exists()), "localhost")


def _tls(mode: str, authority: str) -> Table:
    if mode not in VERIFIED:
        return {}
    return {"tls_ca": authority or str(ROOT), "tls_verify": VERIFIED[mode]}


ADDRESSES = Addresses(
    ("postgresql://", "postgres://", "service="),
    table,
    "no password supplied",
    {
        "database.password_file, PGPASSFILE": "a line in ~/.pgpass, PGPASSFILE",
        "the socket's folder as database.host": "the socket's folder in the URL (?host=/run/postgresql)",
        "database.tls_ca": "sslmode=verify-full and sslrootcert=FILE in the URL",
        "database.user": "the URL",
        "database.host and database.port": "host and port in the URL",
    },
)


def _open(database: PostgresqlDatabase) -> Engine:
    with needs_extra("postgresql"):
        from lutra_agent.engines.postgresql.engine import open_postgresql
    return open_postgresql(database)


def _accounts(database: PostgresqlDatabase) -> Accounts:
    with needs_extra("postgresql"):
        from lutra_agent.engines.postgresql.account import PostgresAccounts
    return PostgresAccounts(database)


POSTGRESQL = Family("postgresql", "PGPASSWORD", PostgresqlDatabase, _open, ADDRESSES, _accounts)
