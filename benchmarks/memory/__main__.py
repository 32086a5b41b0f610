"""`python -m benchmarks memory gain`, `effects`, `nearest`, `training` or `report`."""

from __future__ import annotations

import click

from benchmarks.memory.beginning import beginning_command
from benchmarks.memory.effects import effects_command
from benchmarks.memory.gain import gain_command
from benchmarks.memory.importance import importance_command
from benchmarks.memory.nearest import nearest_command
from benchmarks.memory.public_tables import public_tables_command
from benchmarks.memory.report import report_command
from benchmarks.memory.training import training_command


@click.group()
def main() -> None:
    """Whether a fleet's past helps, what asking it costs, and what training takes."""


COMMANDS = (
    *(gain_command, beginning_command, importance_command, effects_command, nearest_command),
    *(training_command, public_tables_command, report_command),
)
for command in COMMANDS:
    main.add_command(command)

if __name__ == "__main__":
    main(prog_name="python -m benchmarks memory")
