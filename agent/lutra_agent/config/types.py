"""The agent's configuration, in types."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from math import ceil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lutra_models.guardrails import GuardName, Guardrail
from lutra_models.history import Mode
from lutra_models.maintenance import MaintenanceWindow
from lutra_models.metrics import P99Of

from lutra_agent.errors import ConfigError, LoginRefused
from lutra_agent.files.secrets import secret

TOKEN_VARIABLE = "LUTRA_AGENT_TOKEN"  # noqa: S105
CONFIRM_S = 900.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class ServiceConfig:
    """Where reports go. The token is read when it is needed: `check`, `rollback` and `pause` work without one."""

    url: str
    database: str
    token_file: Path | None = None

    def token(self) -> str:
        """From the environment, else from `token_file`. Raises ConfigError where neither gives one."""
        text = os.environ.get(TOKEN_VARIABLE) or secret(self.token_file)
        if not text:
            raise ConfigError(f"no token: set service.token_file or the environment variable {TOKEN_VARIABLE}")
        return text

    @property
    def loopback(self) -> bool:
        return urlsplit(self.url).hostname in LOOPBACK


@dataclass(frozen=True)
class DatabaseConfig:
    """How to reach the database. Without `password_file` the engine's own means apply: its environment or its file.

    `dbname` may be empty where the engine lets a connection be to no database in particular.
    `tls_ca`: a connection over the network is encrypted, and the server proves its name by this authority
    (`tls_verify` "ca": only that its certificate is one of this authority's). `include_file`: where the agent writes
    settings for a server that keeps none over a restart by itself.
    """

    engine: str
    host: str
    port: int
    user: str
    dbname: str
    password_file: Path | None = None
    tls_ca: Path | None = None
    tls_verify: str = "identity"
    include_file: Path | None = None

    @property
    def by_socket(self) -> bool:
        """A folder or a file of this host, which only who may write there can take."""
        return self.host == "" or self.host.startswith("/")

    @property
    def proved(self) -> bool:
        """Whether what answers there is the server, so that it may be given the password itself."""
        return self.by_socket or self.tls_ca is not None

    def password(self) -> str | None:
        """Raises LoginRefused where the file gives none: it is read at each dial, and may just be being replaced."""
        try:
            return secret(self.password_file)
        except ConfigError as error:
            raise LoginRefused(str(error)) from error


@dataclass(frozen=True)
class AgentConfig:
    """`mode` is the most that the agent will ever do. `memory_fraction` of the host's memory is its own limit.
    `durability`: settings may move that can lose committed data. `ranges` "catalogue": a new value lies where the
    catalogue searches; "server": wherever the server takes it. Outside a lab `changes_per_hour` are the most.

    Windows after a change are warm-up: `warmup_windows` of them, and for `restart_warmup_s` after a restart, which
    leaves the caches cold.
    """

    state_dir: Path
    mode: Mode = "observe"
    interval_s: float = 10.0
    warmup_windows: int = 1
    restart_warmup_s: float = 60.0
    memory_fraction: float = 0.8
    durability: bool = False
    name: str | None = None
    ranges: str = "catalogue"
    changes_per_hour: int = 60

    def warm_up(self, restarted: bool) -> int:
        """How many windows after a change are left out."""
        return max(self.warmup_windows, ceil(self.restart_warmup_s / self.interval_s) if restarted else 0)


@dataclass(frozen=True)
class RestartConfig:
    """How to restart, and how to start a server that is down: argument lists, run without a shell.

    Outside a lab directives restart it at most `per_hour` times, and within `maintenance_windows` where there are any.
    """

    command: tuple[str, ...] = ()
    start_command: tuple[str, ...] = ()
    timeout_s: float = 60.0
    data_dir: Path | None = None
    per_hour: int = 6
    maintenance_windows: tuple[MaintenanceWindow, ...] = ()


@dataclass(frozen=True)
class PrometheusConfig:
    """An instant query that gives the 99th percentile, in `unit`; `$window` in it becomes the window, as in `30s`."""

    url: str
    query: str
    unit: str = "s"
    of: P99Of = "transaction"


@dataclass(frozen=True)
class GuardConfig:
    """`guardrails` are those that the file names. `service_may_loosen`: the service's replace them.

    `confirm_windows` windows without a violation confirm a change; without them within `confirm_s` after it was applied
    the agent undoes it. A guardrail that fires within `watch_s` after the confirmation undoes it as well.
    """

    guardrails: Mapping[GuardName, Guardrail] = field(default_factory=dict)
    confirm_windows: int = 3
    confirm_s: float = CONFIRM_S
    watch_s: float = 600.0
    service_may_loosen: bool = False


@dataclass(frozen=True)
class Config:
    service: ServiceConfig
    database: DatabaseConfig
    agent: AgentConfig
    restart: RestartConfig = field(default_factory=RestartConfig)
    guard: GuardConfig = field(default_factory=GuardConfig)
    driver: Mapping[str, Any] | None = None
    prometheus: PrometheusConfig | None = None


def is_loopback(host: str) -> bool:
    try:
        return host in LOOPBACK or ip_address(host).is_loopback
    except ValueError:
        return False
