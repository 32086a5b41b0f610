"""The engine families that this agent knows."""

from __future__ import annotations

from lutra_models import extensions

from lutra_agent.engines.common.address import Addresses
from lutra_agent.engines.common.engine import Family
from lutra_agent.engines.mysql.family import MARIADB, MYSQL
from lutra_agent.engines.postgresql.family import POSTGRESQL
from lutra_agent.engines.redis.family import PIKA, REDIS, VALKEY
from lutra_agent.errors import ConfigError

FAMILIES = (POSTGRESQL, MYSQL, MARIADB, REDIS, VALKEY, PIKA)


def families() -> tuple[Family, ...]:
    """Lutra's own families, and those that other installed packages add."""
    return extensions.extended(FAMILIES, extensions.ENGINES, lambda family: family.name)


def password_variables() -> frozenset[str]:
    return frozenset(f.password_variable for f in families())


def family(name: str) -> Family:
    """Raises ConfigError for a family that is not in `families`."""
    found = next((f for f in families() if f.name == name), None)
    if found is None:
        raise ConfigError(f"database.engine: {name!r} is not one of {', '.join(f.name for f in families())}")
    return found


def named_by(address: str) -> tuple[Family, Addresses]:
    """The family whose servers such an address names. Raises ConfigError if there is none."""
    own = [(f, f.addresses) for f in families() if f.addresses is not None]
    for found, addresses in own:
        if address.startswith(addresses.prefixes):
            return found, addresses
    known = ", ".join(prefix for _, addresses in own for prefix in addresses.prefixes)
    raise ConfigError(f"{address.partition(':')[0]!r} names no server: a URL begins with one of {known}")
