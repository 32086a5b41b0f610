"""Drivers put a measured load on a database. The agent runs any command; other distributions bring further ones as
entry points of `lutra.drivers`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lutra_models import extensions
from lutra_models.aims import MOST_LOADS
from lutra_models.wire import LoadName
from pydantic import TypeAdapter, ValidationError

from lutra_agent.drivers import command
from lutra_agent.drivers.base import Driver, Measurement
from lutra_agent.engines.common.database import Database
from lutra_agent.engines.families import family
from lutra_agent.errors import ConfigError, DriverFailed

__all__ = ["DRIVERS", "Driver", "DriverFailed", "Measurement", "build", "build_loads"]

LOADS = "loads"
NAME: TypeAdapter[str] = TypeAdapter(LoadName)
Build = Callable[[Mapping[str, Any], Database], Driver]


def _command(table: Mapping[str, Any], database: Database) -> Driver:
    return command.build(table, database, family(database.engine).password_variable)


DRIVERS: tuple[tuple[str, Build], ...] = (("command", _command),)
BROUGHT = "the distribution lutra-lab brings drivers of load generators"


def kinds() -> dict[str, Build]:
    """The builder of each kind: Lutra's own, and those that other installed packages add."""
    return dict(extensions.extended(DRIVERS, extensions.DRIVERS, lambda driver: driver[0]))


def build(config: Mapping[str, Any], database: Database) -> Driver:
    """The driver that `[driver]` describes, without the loads of a name. Raises ConfigError."""
    config = {key: value for key, value in config.items() if key != LOADS}
    known = kinds()
    if "kind" not in config:
        raise ConfigError(f"driver.kind is missing: one of {', '.join(known)}; {BROUGHT}")
    if config["kind"] not in list(known):
        raise ConfigError(f"driver.kind: {config['kind']!r} is not one of {', '.join(known)}; {BROUGHT}")
    return known[config["kind"]](config, database)


def build_loads(config: Mapping[str, Any], database: Database) -> dict[str, Driver]:
    """By name, the driver with the changes of each table of `[[driver.loads]]`. Raises ConfigError."""
    tables = config.get(LOADS, [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise ConfigError("driver.loads: expected a list of tables: [[driver.loads]]")
    if len(tables) > MOST_LOADS:
        raise ConfigError(f"driver.loads: at most {MOST_LOADS} loads, got {len(tables)}")
    found: dict[str, Driver] = {}
    for place, table in enumerate(tables):
        name = _name_of(table, place)
        if name in found:
            raise ConfigError(f"driver.loads[{place}].name: {name!r} is the name of two loads")
        shared = config if table.get("kind", config.get("kind")) == config.get("kind") else {}
        changed = {**shared, **{key: value for key, value in table.items() if key != "name"}}
        try:
            found[name] = build(changed, database)
        except ConfigError as error:
            raise ConfigError(f"driver.loads[{place}], {name}: {error}") from error
    return found


def _name_of(table: Mapping[str, Any], place: int) -> str:
    try:
        return NAME.validate_python(table.get("name"))
    except ValidationError:
        what = "letters, digits, '_' and '-', at most 32"
        raise ConfigError(f"driver.loads[{place}].name: expected {what}, got {table.get('name')!r}") from None
