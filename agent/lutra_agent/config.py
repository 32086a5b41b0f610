"""The agent's TOML file, parsed once into types. Every complaint names the key and what it found there."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from math import ceil
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from lutra_models.history import MODES, Mode
from lutra_models.maintenance import LONGEST_MINUTES, WEEKDAYS, MaintenanceWindow, known_zone
from lutra_models.metrics import P99Of

from lutra_agent.errors import ConfigError, LoginRefused
from lutra_agent.guard_config import GuardConfig, confirmable, read_guard
from lutra_agent.secrets import secret
from lutra_agent.toml import Section

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class ServiceConfig:
    """Where reports go. The token is read when it is needed: `check`, `rollback` and `pause` work without one."""

    url: str
    database: str
    token_file: Path | None = None

    def token(self) -> str:
        """From LUTRA_AGENT_TOKEN, else from `token_file`. Raises ConfigError where neither gives one."""
        text = os.environ.get("LUTRA_AGENT_TOKEN") or secret(self.token_file)
        if not text:
            raise ConfigError("no token: set service.token_file or the environment variable LUTRA_AGENT_TOKEN")
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
class Config:
    service: ServiceConfig
    database: DatabaseConfig
    agent: AgentConfig
    restart: RestartConfig = field(default_factory=RestartConfig)
    guard: GuardConfig = field(default_factory=GuardConfig)
    driver: Mapping[str, Any] | None = None
    prometheus: PrometheusConfig | None = None


def load(path: Path) -> Config:
    """Read and parse the file. Raises ConfigError."""
    try:
        document = tomllib.loads(path.read_text())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    try:
        return parse(document)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def parse(document: Mapping[str, Any]) -> Config:
    root = Section("", document)
    config = Config(
        service=_service(root.section("service")),
        database=_database(root.section("database")),
        agent=_agent(root.section("agent")),
        restart=_restart(root.section("restart")),
        guard=read_guard(root.section("guard")),
        driver=root.optional_table("driver"),
        prometheus=_prometheus(root.optional_section("prometheus")),
    )
    root.finish()
    if config.driver is not None and config.agent.mode != "lab":
        raise ConfigError(f"driver: a driver needs agent.mode = 'lab', which is {config.agent.mode!r}")
    if config.agent.mode != "observe":
        warm_up = config.agent.warm_up(restarted=config.agent.mode != "reload_only")
        confirmable(config.guard, config.agent.interval_s, warm_up)
    return config


def _service(section: Section) -> ServiceConfig:
    url = _url(section, "url")
    host = urlsplit(url).hostname
    if not url.startswith("https://") and host not in LOOPBACK:
        raise ConfigError(f"service.url: plain http is for loopback only, got host {host!r}; use https")
    return section.finish(ServiceConfig(url, section.text("database"), section.path("token_file")))


def _database(section: Section) -> DatabaseConfig:
    config = section.finish(
        DatabaseConfig(
            engine=section.text("engine"),
            host=section.text("host"),
            port=section.integer("port", None, low=1, high=65535),
            user=section.text("user", "lutra"),
            dbname=section.text("dbname", ""),
            password_file=section.path("password_file"),
            tls_ca=section.path("tls_ca"),
            tls_verify=section.choice("tls_verify", "identity", ("identity", "ca")),
            include_file=section.path("include_file"),
        )
    )
    if not (config.proved or is_loopback(config.host)):
        how = "set database.tls_ca, or run the agent on the database's host and name the socket"
        raise ConfigError(f"database.host: {config.host!r} is another host, and has to prove who it is: {how}")
    if config.tls_verify != "identity" and config.tls_ca is None:
        raise ConfigError(f"database.tls_verify: {config.tls_verify!r} needs database.tls_ca")
    return config


def is_loopback(host: str) -> bool:
    try:
        return host in LOOPBACK or ip_address(host).is_loopback
    except ValueError:
        return False


def _agent(section: Section) -> AgentConfig:
    mode = section.choice("mode", "observe", MODES)
    return section.finish(
        AgentConfig(
            state_dir=section.path("state_dir") or Path("/var/lib/lutra-agent"),
            mode=next(m for m in MODES if m == mode),
            interval_s=section.number("interval_s", 10.0, low=1.0, high=3600.0),
            warmup_windows=section.integer("warmup_windows", 1, low=0, high=1000),
            restart_warmup_s=section.number("restart_warmup_s", 60.0, low=0.0, high=3600.0),
            memory_fraction=section.number("memory_fraction", 0.8, low=0.05, high=1.0),
            durability=section.flag("durability", False),
            name=section.text("name", "") or None,
            ranges=section.choice("ranges", "catalogue", ("catalogue", "server")),
            changes_per_hour=section.integer("changes_per_hour", 60, low=1, high=3600),
        )
    )


def _restart(section: Section) -> RestartConfig:
    return section.finish(
        RestartConfig(
            command=section.argv("command"),
            start_command=section.argv("start_command"),
            timeout_s=section.number("timeout_s", 60.0, low=1.0, high=3600.0),
            data_dir=section.path("data_dir"),
            per_hour=section.integer("per_hour", 6, low=1, high=3600),
            maintenance_windows=tuple(map(_window, section.tables("maintenance_windows"))),
        )
    )


def _window(section: Section) -> MaintenanceWindow:
    days = section.argv("weekdays", WEEKDAYS)
    try:
        window = MaintenanceWindow(
            tuple(d for d in WEEKDAYS if d in days),
            section.text("start"),
            section.integer("minutes", None, low=1, high=LONGEST_MINUTES),
            section.text("zone", "UTC"),
        )
    except ValueError as error:
        raise ConfigError(f"{section.name}: {error}") from error
    if unknown := [d for d in days if d not in WEEKDAYS]:
        raise ConfigError(f"{section.name}.weekdays: {', '.join(unknown)}: none of {', '.join(WEEKDAYS)}")
    if known_zone(window.zone) is None:
        raise ConfigError(f"{section.name}.zone: this machine knows no time zone {window.zone!r}")
    return section.finish(window)


def _prometheus(section: Section | None) -> PrometheusConfig | None:
    if section is None:
        return None
    of = section.choice("of", "transaction", get_args(P99Of))
    unit = section.choice("unit", "s", ("s", "ms"))
    config = PrometheusConfig(
        _url(section, "url"), section.text("query"), unit, next(o for o in get_args(P99Of) if o == of)
    )
    return section.finish(config)


def _url(section: Section, key: str) -> str:
    url = section.text(key).rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{section.name}.{key}: expected http(s)://host[:port], got scheme {parts.scheme!r}")
    if parts.username or parts.password:
        raise ConfigError(f"{section.name}.{key}: no user and no password in a URL; they end up in logs")
    return url
