"""The identity of a server: a failover, an upgrade or a move to another host changes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lutra_models.server import Role, Server

HOST_TOLERANCE = 0.05
"""A reboot or a kernel may slightly change the memory that a host reports."""


@dataclass(frozen=True)
class Identity:
    """The server for which a session's measurements are valid. `identifier` is empty if the server reports none."""

    role: Role
    engine_version: str
    identifier: str
    memory_bytes: int
    cores: float

    def differences(self, now: Identity) -> list[str]:
        """The differences from `now`, in words."""
        return list(self._differences(now))

    def _differences(self, now: Identity) -> Iterator[str]:
        if self.role != now.role:
            yield f"the server was a {self.role} and is a {now.role}"
        if self.engine_version != now.engine_version:
            yield f"its version was {self.engine_version} and is {now.engine_version}"
        if self.identifier and now.identifier and self.identifier != now.identifier:
            yield f"it was {self.identifier} and is {now.identifier}: another server"
        if _differ(self.memory_bytes, now.memory_bytes):
            yield f"its memory was {self.memory_bytes / 2**20:.0f} MiB and is {now.memory_bytes / 2**20:.0f} MiB"
        if _differ(self.cores, now.cores):
            yield f"its cores were {self.cores:g} and are {now.cores:g}"


def identity(server: Server) -> Identity:
    host = server.host
    return Identity(server.role, server.version, server.identifier, host.memory_bytes, host.cores)


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > HOST_TOLERANCE * max(one, other)
