"""`python -m benchmarks lab.race`: the recommender and its peers on real servers."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType

import click
from lutra_lab.servers.errors import LabError

from benchmarks.lab.data import Setting
from benchmarks.lab.race.loads import CONTESTS, named
from benchmarks.lab.race.optimisers import NOISE, OPTIMISERS
from benchmarks.lab.race.run import RESULTS, Plan, run
from benchmarks.lab.small_host import Limits
from benchmarks.tuning.options import Names


@click.command()
@click.option(
    "--contest",
    "contests",
    multiple=True,
    type=click.Choice([c.name for c in CONTESTS]),
    help="Default: all without a past.",
)
@click.option("--optimisers", type=Names([*OPTIMISERS, NOISE]), default=",".join(OPTIMISERS), show_default=True)
@click.option("--trials", type=click.IntRange(2), default=25, show_default=True, help="Of each optimiser.")
@click.option(
    "--rounds", type=click.IntRange(0), default=3, show_default=True, help="Of the finalists; 0: trials only."
)
@click.option("--warmup", type=click.IntRange(0), default=35, show_default=True, help="Seconds before each window.")
@click.option("--duration", type=click.IntRange(5), default=40, show_default=True, help="Seconds of each window.")
@click.option("--final-warmup", type=click.IntRange(0), default=35, show_default=True, help="The same, for finalists.")
@click.option(
    "--final-duration", type=click.IntRange(5), default=60, show_default=True, help="The same, for finalists."
)
@click.option("--memory", type=click.IntRange(1), default=3, show_default=True, help="The small host's, in GiB.")
@click.option("--seed", default=0)
@click.option(
    "--peers-python",
    "python",
    type=click.Path(path_type=Path),
    envvar="LUTRA_PEERS_PYTHON",
    default=Path(sys.executable),
    help="Python of the environment that has the peers' packages.",
)
@click.option("--dir", "folder", type=click.Path(path_type=Path), default=Setting.folder, show_default=True)
@click.option("--results", type=click.Path(path_type=Path), default=RESULTS, help="Where rows are kept.")
@click.option("--report", "wanted", is_flag=True, help="Only write RESULTS.md and its plots.")
def main(
    contests: tuple[str, ...],
    optimisers: tuple[str, ...],
    trials: int,
    rounds: int,
    warmup: int,
    duration: int,
    final_warmup: int,
    final_duration: int,
    memory: int,
    seed: int,
    python: Path,
    folder: Path,
    results: Path,
    wanted: bool,
) -> None:
    """Race the recommender, SMAC3, BoTorch and random search on real servers with a small disk and little memory.

    Each spends the same trials, the default's first. Then the default, the rule-based start and everybody's finalist
    are measured in turns. Needs root, control groups of version 1 and Go. Interrupt whenever you like, and start the
    same command again to go on.
    """
    if not wanted:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _stop)
        setting = Setting(folder, Limits(memory_bytes=memory << 30), warmup_s=warmup, duration_s=duration)
        for name in contests or [c.name for c in CONTESTS if c.like is None]:
            plan = Plan(trials, rounds, seed, final_warmup, final_duration)
            try:
                for said in run(named(name), optimisers, plan, setting, python, results):
                    click.echo(said)
            except LabError as error:
                raise click.ClickException(f"{name}: {error}") from error
    from benchmarks.lab.race import report  # plots are slow to import, and only a report needs them

    for path in report.write(results, report.HERE if results == RESULTS else results):
        click.echo(f"wrote {path}")


def _stop(_number: int, _frame: FrameType | None) -> None:
    sys.exit("ended; the same command goes on from here")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks lab.race")
