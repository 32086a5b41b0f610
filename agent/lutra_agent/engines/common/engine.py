"""An opened database, in three parts. Everything else in the agent is the same for all engines.

A family is a value in `lutra_agent.engines.families.FAMILIES`; a new one is one folder and one line in that tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lutra_models.server import SERVER, Host, Server, ServerSetting

from lutra_agent.config.types import DatabaseConfig
from lutra_agent.engines.common.account import Accounts
from lutra_agent.engines.common.address import Addresses
from lutra_agent.engines.common.health import Health
from lutra_agent.engines.common.source import SettingSource, read_settings
from lutra_agent.engines.common.telemetry import Telemetry
from lutra_agent.errors import ConfigError


@dataclass(frozen=True)
class Engine:
    """One database server. `sources` are the server's own first, then any number of others."""

    family: str
    health: Health
    telemetry: Telemetry
    sources: tuple[SettingSource, ...]

    def __post_init__(self) -> None:
        names = [s.name for s in self.sources]
        if names[:1] != [SERVER] or len(set(names)) < len(names):
            raise ValueError(f"sources must begin with {SERVER!r} and differ in their names, got {names}")

    @property
    def own(self) -> SettingSource:
        """The server's own settings."""
        return self.sources[0]

    def server(self, host: Host, instead: Mapping[str, ServerSetting] | None = None) -> Server:
        """The settings of all sources as they are now, or others `instead`.

        Raises DatabaseUnavailable and CollectionFailed.
        """
        identity = self.health.identity()
        settings = read_settings(self.sources) if instead is None else instead
        peak = self.telemetry.peak_connections
        return Server(self.family, identity.version, settings, host, identity.role, peak, identity.identifier)


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
