"""The engine families that this agent knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lutra_agent.config.types import DatabaseConfig
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.mysql.server.section import MariadbDatabase, MysqlDatabase
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase
from lutra_agent.errors import ConfigError


@dataclass(frozen=True)
class Family:
    """An engine family. `section` is what `[database]` holds for it: `DatabaseConfig`, and keys of its own.

    `open` imports its driver, dials lazily and raises ConfigError where the extra is missing.
    `password_variable` is the environment variable from which its clients read a password.
    """

    name: str
    password_variable: str
    section: type[DatabaseConfig]
    open: Callable[[Any], Engine]


@contextmanager
def _extra(name: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name} is missing: pip install 'lutra-agent[{name}]'") from error


def _open_postgresql(database: PostgresqlDatabase) -> Engine:
    with _extra("postgresql"):
        from lutra_agent.engines.postgresql.engine import open_postgresql
    return open_postgresql(database)


def _open_mysql(database: MysqlDatabase) -> Engine:
    with _extra("mysql"):
        from lutra_agent.engines.mysql.engine import open_mysql
    return open_mysql(database)


def _open_mariadb(database: MariadbDatabase) -> Engine:
    with _extra("mysql"):
        from lutra_agent.engines.mysql.engine import open_mariadb
    return open_mariadb(database)


FAMILIES = (
    Family("postgresql", "PGPASSWORD", PostgresqlDatabase, _open_postgresql),
    Family("mysql", "MYSQL_PWD", MysqlDatabase, _open_mysql),
    Family("mariadb", "MYSQL_PWD", MariadbDatabase, _open_mariadb),
)

PASSWORD_VARIABLES = frozenset(f.password_variable for f in FAMILIES)


def family(name: str) -> Family:
    """Raises ConfigError for a family that is not among FAMILIES."""
    found = next((f for f in FAMILIES if f.name == name), None)
    if found is None:
        raise ConfigError(f"database.engine: {name!r} is not one of {', '.join(f.name for f in FAMILIES)}")
    return found
