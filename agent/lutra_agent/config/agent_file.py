"""The agent's TOML file, parsed once into types. Every complaint names the key and what it found there."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from lutra_models.history import MODES
from lutra_models.maintenance import LONGEST_MINUTES, WEEKDAYS, MaintenanceWindow, known_zone
from lutra_models.metrics import P99Of

from lutra_agent.config.guardrails import confirmable, read_guard
from lutra_agent.config.section import Section
from lutra_agent.config.types import (
    LOOPBACK,
    AgentConfig,
    Config,
    DatabaseConfig,
    PrometheusConfig,
    RestartConfig,
    ServiceConfig,
    is_loopback,
)
from lutra_agent.errors import ConfigError


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
