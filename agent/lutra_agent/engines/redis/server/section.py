"""The Redis family's part of the agent's `[database]` section."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lutra_agent.config.types import DatabaseConfig
from lutra_agent.config.values import OptionalPath, Whole, within

FASTEST_PROBE = 100
PROBE_KEYS = "lutra:probe:*"
"""The agent's own: it reads and writes no others."""


@dataclass(frozen=True, kw_only=True)
class RedisDatabase(DatabaseConfig):
    """`config_file` is the server's own file, if the server does not report its path, or while it is down.

    `probe_per_s` commands a second of the agent's own are timed for their p99; 0 for none. `password_in_clear`: the
    password may be sent over an unverified connection, as on a trusted network without TLS.
    """

    user: str = "default"
    config_file: OptionalPath = None
    probe_per_s: Annotated[Whole, within(0, FASTEST_PROBE)] = 0
    password_in_clear: bool = False
