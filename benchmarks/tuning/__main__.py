"""`python -m benchmarks tuning`: the recommender raced, checked and timed on measured tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from benchmarks.tuning import report
from benchmarks.tuning.calibration import calibration_command
from benchmarks.tuning.coverage import coverage_command
from benchmarks.tuning.disturbed import disturbed_command
from benchmarks.tuning.ending import ending_command
from benchmarks.tuning.handover import handover_command
from benchmarks.tuning.loads import loads_command
from benchmarks.tuning.options import results_option
from benchmarks.tuning.racing import race_command, safe_command
from benchmarks.tuning.scale import scale_command
from benchmarks.tuning.speed import speed_command
from benchmarks.tuning.warm import warm_command

MEASURED = (
    speed_command,
    scale_command,
    race_command,
    safe_command,
    warm_command,
    coverage_command,
    calibration_command,
    disturbed_command,
    loads_command,
    handover_command,
    ending_command,
)


@click.group(invoke_without_command=True)
@click.option("--report", "wanted", is_flag=True, help="Write RESULTS.md and its plots.")
@results_option
@click.pass_context
def main(context: click.Context, wanted: bool, results: Path) -> None:
    """Race, check and time the recommender on measured tables.

    The tasks are forests over public tables of measured configurations (MySQL 5.7, PostgreSQL 16), so a trial costs
    milliseconds and everybody meets the same database. Results are kept run by run: interrupt whenever you like, and
    start the same command again to go on. `all` does everything; `--report` turns what is there into tables and plots.
    """
    if wanted:
        for path in report.write(results):
            click.echo(f"wrote {path}")
    elif context.invoked_subcommand is None:
        click.echo(context.get_help())


@main.command("all")
@click.option("--seeds", type=click.IntRange(1), help="Of every part.  [default: 10, and 20 of coverage]")
@results_option
@click.pass_context
def all_command(context: click.Context, seeds: int | None, results: Path) -> None:
    """Measure everything, the quick parts first, and write the report."""
    for command in MEASURED:
        seeded = {"seeds": seeds} if seeds and any(p.name == "seeds" for p in command.params) else {}
        click.echo(f"— {command.name}")
        _invoke(context, command, results=results, **seeded)
    for path in report.write(results):
        click.echo(f"wrote {path}")


def _invoke(context: click.Context, command: Callable[..., Any], **given: Any) -> None:
    context.invoke(command, **given)


for measured in MEASURED:
    main.add_command(measured)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks tuning")
