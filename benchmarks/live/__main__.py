"""`python -m benchmarks live`: servers with one thing made wrong, and what the live door proposes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
from lutra_lab.servers.errors import LabError
from lutra_models.errors import LutraError

from benchmarks.lab.data import Setting
from benchmarks.lab.labs import Size
from benchmarks.live.report import write
from benchmarks.live.run import RESULTS, Plan, run
from benchmarks.live.scenarios import SCENARIOS, named


@click.command()
@click.option(
    "--scenario", "names", multiple=True, type=click.Choice([s.name for s in SCENARIOS]), help="Default: all."
)
@click.option("--slices", type=click.IntRange(1), default=5, show_default=True, help="Of 20 s, in a reading of p99.")
@click.option("--proposals", type=click.IntRange(1), default=3, show_default=True, help="The most that are approved.")
@click.option("--observed", type=click.IntRange(20), default=120, show_default=True, help="Seconds before the session.")
@click.option("--rows", type=click.IntRange(1000), default=1_000_000, show_default=True, help="Of each of 8 tables.")
@click.option("--dir", "folder", type=click.Path(path_type=Path), default=Setting.folder, show_default=True)
@click.option("--results", type=click.Path(path_type=Path), default=RESULTS, help="Where rows are kept.")
@click.option("--report", "wanted", is_flag=True, help="Only write RESULTS.md.")
def main(
    names: tuple[str, ...],
    slices: int,
    proposals: int,
    observed: int,
    rows: int,
    folder: Path,
    results: Path,
    wanted: bool,
) -> None:
    """Make one thing wrong with a well-tuned server under clients at a rate, and approve what a session proposes.

    A scenario takes some ten minutes; interrupt whenever you like, and start the same command again to go on. Needs
    root and control groups of version 1.
    """
    if not wanted:
        setting = Setting(folder, size=Size(rows=rows))
        plan = replace(Plan(slices, proposals, observed), setting=setting)
        for scenario in [named(n) for n in names] or SCENARIOS:
            try:
                run(scenario, plan, click.echo, results)
            except (LabError, LutraError, TimeoutError) as error:
                click.echo(f"{scenario.name}: {error}", err=True)
    click.echo(f"wrote {write(results)}")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks live")
