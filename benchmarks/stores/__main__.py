"""`python -m benchmarks stores`: a persistent Redis on a slow disk, one under huge pages, PostgreSQL and its host."""

from __future__ import annotations

import signal
from pathlib import Path

import click
from lutra_lab.servers.errors import LabError

from benchmarks.stores.run import FOLDER, RESULTS, Plan, run
from benchmarks.stores.studies import STUDIES


@click.command()
@click.option("--study", "names", multiple=True, type=click.Choice(list(STUDIES)), help="Default: all.")
@click.option("--trials", type=click.IntRange(2), default=Plan.trials, show_default=True, help="Of each session.")
@click.option("--rounds", type=click.IntRange(0), default=Plan.rounds, show_default=True, help="Of all in turns.")
@click.option("--duration", type=click.IntRange(1), default=int(Plan.duration_s), show_default=True, help="Seconds.")
@click.option("--seed", default=0)
@click.option("--dir", "folder", type=click.Path(path_type=Path), default=FOLDER, show_default=True)
@click.option("--results", type=click.Path(path_type=Path), default=RESULTS, help="Where rows are kept.")
@click.option("--report", "wanted", is_flag=True, help="Only print the tables.")
def main(
    names: tuple[str, ...],
    trials: int,
    rounds: int,
    duration: int,
    seed: int,
    folder: Path,
    results: Path,
    wanted: bool,
) -> None:
    """Tune a real Redis whose clients only write: on 800 write requests a second, and through snapshots of 2 GB.

    And a PostgreSQL whose clients come at a rate: alone, and together with the kernel beneath it.

    Needs root, control groups of version 1, redis-server, libjemalloc2 and libtcmalloc-minimal4. Each row is on disk
    before the next measurement begins: interrupt whenever you like, and start the same command again to go on.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # the kernel's settings are put back
    plan = Plan(trials, rounds, duration_s=float(duration))
    for name in names or STUDIES:
        if not wanted:
            try:
                for said in run(STUDIES[name], plan, results, folder, seed):
                    click.echo(said)
            except LabError as error:
                raise click.ClickException(f"{name}: {error}") from error
        from benchmarks.stores.report import table

        click.echo(table(STUDIES[name], results))


if __name__ == "__main__":
    main(prog_name="python -m benchmarks stores")
