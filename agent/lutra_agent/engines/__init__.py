"""The engine families that this agent knows."""

from __future__ import annotations

from lutra_agent.config import DatabaseConfig
from lutra_agent.engines.base import Engine, Family
from lutra_agent.errors import ConfigError


def _open_postgresql(database: DatabaseConfig) -> Engine:
    try:
        from lutra_agent.engines.postgresql.engine import PostgreSQL
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name} is missing: pip install 'lutra-agent[postgresql]'") from error
    return PostgreSQL(database)


FAMILIES = (Family("postgresql", _open_postgresql),)


def family(name: str) -> Family:
    """Raises ConfigError for a family that is not among FAMILIES."""
    found = next((f for f in FAMILIES if f.name == name), None)
    if found is None:
        raise ConfigError(f"database.engine: {name!r} is not one of {', '.join(f.name for f in FAMILIES)}")
    return found
