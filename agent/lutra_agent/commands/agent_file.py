"""The agent's TOML file, parsed once into types. Every complaint names the file, the key and what it found there."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

from lutra_agent.config.section import read
from lutra_agent.config.types import Config, DatabaseConfig, GuardConfig, is_loopback
from lutra_agent.engines.families import family
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
    """Raises ConfigError. The engine's family says which keys `[database]` has."""
    own = make_dataclass("Config", [("database", _section(document.get("database")))], bases=(Config,), frozen=True)
    config: Config = read(own, {"service": {}, "database": {}, **document})
    _require_proof(config.database)
    if config.driver is not None and config.agent.mode != "lab":
        raise ConfigError(f"driver: a driver needs agent.mode = 'lab', which is {config.agent.mode!r}")
    if config.agent.mode != "observe":
        warm_up = config.agent.warm_up(restarted=config.agent.mode != "reload_only")
        _require_time_to_confirm(config.guard, config.agent.interval_s, warm_up)
    return config


def _section(table: object) -> type[DatabaseConfig]:
    engine = table.get("engine") if isinstance(table, dict) else None
    return family(engine).section if isinstance(engine, str) else DatabaseConfig


def _require_proof(database: DatabaseConfig) -> None:
    if not (database.proved or is_loopback(database.host)):
        how = "set database.tls_ca, or run the agent on the database's host and name the socket"
        raise ConfigError(f"database.host: {database.host!r} is another host, and has to prove who it is: {how}")
    if database.tls_verify != "identity" and database.tls_ca is None:
        raise ConfigError(f"database.tls_verify: {database.tls_verify!r} needs database.tls_ca")


def _require_time_to_confirm(guard: GuardConfig, interval_s: float, warm_up: int) -> None:
    """Without it the agent would undo every change, because none can be confirmed in time."""
    # The first window of all begins up to an interval after the change.
    needed_s = (1 + warm_up + guard.confirm_windows) * interval_s
    if needed_s > guard.confirm_s:
        raise ConfigError(
            f"guard.confirm_s: {guard.confirm_s:g} is too short, every change would be undone: with "
            f"agent.interval_s = {interval_s:g}, {warm_up} windows of warm-up (agent.warmup_windows, "
            f"agent.restart_warmup_s) and guard.confirm_windows = {guard.confirm_windows} it takes up to "
            f"{needed_s:g} s; allow so much, or make one of these smaller"
        )
