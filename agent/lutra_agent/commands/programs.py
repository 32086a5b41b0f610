"""The test whether the programs that the agent's file names exist, for `lutra-agent check`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from lutra_agent.config.types import Config, RestartConfig
from lutra_agent.drivers import build, build_loads


def missing_programs(config: Config) -> Iterator[str]:
    """A line with its remedy for each. Raises ConfigError for a driver that cannot be built."""
    if config.driver is not None:
        drivers = {"driver": build(config.driver, config.database)}
        drivers |= {f"driver.loads, {n}": d for n, d in build_loads(config.driver, config.database).items()}
        for place, driver in drivers.items():
            yield from _unless_there(place, getattr(driver, "program", ""), "install it, or name it with its folder")
    yield from missing_commands(config.restart)


def missing_commands(restart: RestartConfig) -> Iterator[str]:
    for key, command in (("command", restart.command), ("start_command", restart.start_command)):
        if command:
            yield from _unless_there(f"restart.{key}", command[0], "name an existing program, with its folder")


def _unless_there(place: str, program: str, remedy: str) -> Iterator[str]:
    if program and shutil.which(program) is None:
        yield f"{place}: this account cannot find a program {program!r} that it may run: {remedy}"
