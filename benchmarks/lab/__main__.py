"""`python -m benchmarks lab`: tune real servers on a small disk."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType

import click
from lutra_lab.servers.errors import LabError

from benchmarks.lab.data import Setting
from benchmarks.lab.labs import Size
from benchmarks.lab.run import RESULTS, run
from benchmarks.lab.small_host import Limits
from benchmarks.lab.steps import Plan
from benchmarks.lab.studies import STUDIES, Study, named


@click.command()
@click.option("--study", "names", multiple=True, type=click.Choice([s.name for s in STUDIES]), help="Default: all.")
@click.option("--trials", type=click.IntRange(2), default=20, show_default=True)
@click.option("--rounds", type=click.IntRange(0), default=3, show_default=True, help="Of the final measurements.")
@click.option("--warmup", type=click.IntRange(0), default=20, show_default=True, help="Seconds before each window.")
@click.option("--duration", type=click.IntRange(1), default=40, show_default=True, help="Seconds of each window.")
@click.option("--rows", type=click.IntRange(1000), default=1_000_000, show_default=True, help="Of each of 8 tables.")
@click.option("--memory", type=click.IntRange(1), default=4, show_default=True, help="The small host's, in GiB.")
@click.option("--seed", default=0)
@click.option("--dir", "folder", type=click.Path(path_type=Path), default=Setting.folder, show_default=True)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=RESULTS,
    help="Where results are kept; other than the default, with their report.",
)
@click.option("--report", "wanted", is_flag=True, help="Only write RESULTS.md and its plots.")
def main(
    names: tuple[str, ...],
    trials: int,
    rounds: int,
    warmup: int,
    duration: int,
    rows: int,
    memory: int,
    seed: int,
    folder: Path,
    results: Path,
    wanted: bool,
) -> None:
    """Tune real servers on a disk of 3,000 reads and 800 writes a second, and measure what comes of it.

    Needs root and control groups of version 1. A study takes about an hour; interrupt it whenever you like, and start
    the same command again to go on.
    """
    if not wanted:
        setting = Setting(folder, Limits(memory_bytes=memory << 30), Size(rows=rows), warmup, duration)
        _measure([named(n) for n in names] or list(STUDIES), Plan(trials, rounds), setting, results, seed)
    from benchmarks.lab import report  # plots are slow to import, and only a report needs them

    for path in report.write(results, report.HERE if results == RESULTS else results):
        click.echo(f"wrote {path}")


def _measure(studies: list[Study], plan: Plan, setting: Setting, results: Path, seed: int) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    broken = []
    for study in studies:
        try:
            for said in run(study, plan, setting, results, seed):
                click.echo(said)
        except LabError as error:
            broken.append(f"{study.name}: {error}")
            click.echo(broken[-1], err=True)
    if broken:
        raise click.ClickException("; ".join(broken))


def _stop(_number: int, _frame: FrameType | None) -> None:
    sys.exit("ended; the same command goes on from here")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks lab")
