"""An opened database, in three parts. Everything else in the agent is the same for all engines.

A family is a value in `lutra_agent.engines.families.FAMILIES`; a new one is one folder and one line in that tuple.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lutra_models.server import SERVER, Host, Server, ServerSetting

from lutra_agent.engines.common.health import Health
from lutra_agent.engines.common.source import SettingSource
from lutra_agent.engines.common.sources import read_settings
from lutra_agent.engines.common.telemetry import Telemetry


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
