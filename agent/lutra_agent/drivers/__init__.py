"""Drivers put a measured load on a database. A new one is a module with `build` and one line in DRIVERS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lutra_models import extensions

from lutra_agent.drivers import command, pgbench, sysbench
from lutra_agent.drivers.base import Driver, Measurement
from lutra_agent.engines.common.database import Database
from lutra_agent.engines.families import family
from lutra_agent.errors import ConfigError, DriverFailed

__all__ = ["DRIVERS", "Driver", "DriverFailed", "Measurement", "build"]

Build = Callable[[Mapping[str, Any], Database], Driver]


def _command(table: Mapping[str, Any], database: Database) -> Driver:
    return command.build(table, database, family(database.engine).password_variable)


DRIVERS: tuple[tuple[str, Build], ...] = (
    ("pgbench", pgbench.build),
    ("sysbench", sysbench.build),
    ("command", _command),
)


def kinds() -> dict[str, Build]:
    """How each kind is built: our own, and those that other installed packages bring."""
    return dict(extensions.extended(DRIVERS, extensions.DRIVERS, lambda driver: driver[0]))


def build(config: Mapping[str, Any], database: Database) -> Driver:
    """The driver that `[driver]` describes. Raises ConfigError."""
    known = kinds()
    if "kind" not in config:
        raise ConfigError(f"driver.kind is missing: one of {', '.join(known)}")
    if config["kind"] not in list(known):
        raise ConfigError(f"driver.kind: {config['kind']!r} is not one of {', '.join(known)}")
    return known[config["kind"]](config, database)
