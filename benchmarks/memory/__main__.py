"""`python -m benchmarks memory gain|nearest|training|report`."""

from __future__ import annotations

import click

from benchmarks.memory.gain import gain_command


@click.group()
def main() -> None:
    """Whether a fleet's past helps, what asking it costs, and what training takes."""


main.add_command(gain_command)

if __name__ == "__main__":
    main()
