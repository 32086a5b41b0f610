"""The identity of an engine in the agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lutra_agent.config.types import DatabaseConfig
from lutra_agent.engines.common.account import Accounts
from lutra_agent.engines.common.address import Addresses
from lutra_agent.engines.common.engine import Engine
from lutra_agent.errors import ConfigError


@dataclass(frozen=True)
class Family:
    """An engine family. `section` is what `[database]` holds for it: `DatabaseConfig`, and keys of its own.

    `open` imports its driver, connects lazily and raises ConfigError if the extra is missing. `password_variable` is
    the environment variable from which its clients read a password. `addresses` are the URLs by which people name its
    servers, None if there are none. `accounts` makes the agent's account over the connection of another one, None if
    the servers have no accounts.
    """

    name: str
    password_variable: str
    section: type[DatabaseConfig]
    open: Callable[[Any], Engine]
    addresses: Addresses | None = None
    accounts: Callable[[Any], Accounts] | None = None


@contextmanager
def needs_extra(name: str) -> Iterator[None]:
    """A context for the import of a driver. Raises ConfigError, which names the package to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name} is missing: pip install 'lutra-agent[{name}]'") from error
