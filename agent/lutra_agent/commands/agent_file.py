"""The agent's TOML file, parsed once into types. Every error names the file, the key and the value."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, make_dataclass
from pathlib import Path
from typing import Any

from lutra_agent.config.section import read
from lutra_agent.config.types import Config, DatabaseConfig, GuardConfig, is_loopback
from lutra_agent.engines.families import families, family
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
    """Raises ConfigError, which names every fault. The engine's family says which keys `[database]` has."""
    table = document.get("database", {})
    faults: list[str] = []
    try:
        section = _section(table)
    except ConfigError as error:
        section, table = DatabaseConfig, _of_any_family(table)
        faults.append(str(error))
    own = make_dataclass("Config", [("database", section)], bases=(Config,), frozen=True)
    try:
        config: Config = read(own, {"service": {}, **document, "database": table})
        faults += _contradictions(config)
    except ConfigError as error:
        faults.append(str(error))
    if faults:
        raise ConfigError("; ".join(faults))
    return config


def _section(table: object) -> type[DatabaseConfig]:
    engine = table.get("engine") if isinstance(table, dict) else None
    return family(engine).section if isinstance(engine, str) else DatabaseConfig


def _of_any_family(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without the keys that some family alone knows: which of them are right the engine would have to say."""
    own = {f.name for kind in families() for f in fields(kind.section)} - {f.name for f in fields(DatabaseConfig)}
    return {key: value for key, value in table.items() if key not in own}


def _contradictions(config: Config) -> Iterator[str]:
    """What is right by itself, and not with the rest of the file."""
    database, mode = config.database, config.agent.mode
    if not (database.proved or is_loopback(database.host)):
        how = "set database.tls_ca, or run the agent on the database's host and name the socket"
        yield f"database.host: {database.host!r} is a different host, which has to prove its identity: {how}"
    if database.tls_verify != "identity" and database.tls_ca is None:
        yield f"database.tls_verify: {database.tls_verify!r} needs database.tls_ca"
    if config.driver is not None and mode != "lab":
        yield f"driver: a driver needs agent.mode = 'lab', which is {mode!r}"
    if mode != "observe":
        warm_up = config.agent.warm_up(restarted=mode != "reload_only")
        yield from _too_short_to_confirm(config.guard, config.agent.interval_s, warm_up)


def _too_short_to_confirm(guard: GuardConfig, interval_s: float, warm_up: int) -> Iterator[str]:
    """The agent would undo every change, because none can be confirmed in time."""
    # The first window of all begins up to an interval after the change.
    needed_s = (1 + warm_up + guard.confirm_windows) * interval_s
    if needed_s > guard.confirm_s:
        yield (
            f"guard.confirm_s: {guard.confirm_s:g} is too short, every change would be undone: with "
            f"agent.interval_s = {interval_s:g}, {warm_up} windows of warm-up (agent.warmup_windows, "
            f"agent.restart_warmup_s) and guard.confirm_windows = {guard.confirm_windows} it takes up to "
            f"{needed_s:g} s; allow at least that, or reduce one of these"
        )
