"""`python -m benchmarks tuning`: the recommender raced, checked and timed on measured tables."""

from __future__ import annotations

import click

from benchmarks.tuning.coverage import coverage_command
from benchmarks.tuning.racing import race_command, safe_command
from benchmarks.tuning.warm import warm_command


@click.group()
def main() -> None:
    """Race, check and time the recommender on measured tables."""


for command in (race_command, safe_command, warm_command, coverage_command):
    main.add_command(command)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks tuning")
