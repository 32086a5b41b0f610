"""`lutra demo`."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import click
from lutra_client import Problem, Unreachable
from lutra_models.catalog import ChangeSteps, meet
from lutra_models.server import Server
from rich.console import Console

from lutra_lab.demo import show
from lutra_lab.demo.processes import DemoFailed, Processes
from lutra_lab.demo.stack import bring_up
from lutra_lab.demo.tuning import as_trial, tune
from lutra_lab.scratch import scratch_servers

ROUNDS = 8
"""The maximum number of rounds in which the session measures its finalists: half as many are usual."""
ENGINES = [kind.engine for kind in scratch_servers()]


@click.command()
@click.option("--engine", default=ENGINES[0], show_default=True, type=click.Choice(ENGINES), help="The engine to tune.")
@click.option("--trials", default=10, show_default=True, type=click.IntRange(3, 200), help="The number of trials.")
@click.option(
    "--seconds", default=6, show_default=True, type=click.IntRange(2, 600), help="The measured seconds per trial."
)
@click.option(
    "--seed", default=1, show_default=True, type=click.IntRange(0), help="The same seed gives the same search."
)
@click.option(
    "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures to this file."
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the service's database in this folder, for example for `lutra notebook`.",
)
def demo(engine: str, trials: int, seconds: int, seed: int, json_file: Path | None, keep: Path | None) -> None:
    """Tune a real database server from start to end, on this machine, in some ten minutes.

    The demo starts a server in a scratch folder, the service, and an agent in lab mode. The load writes to more data
    than the server's default cache can hold. A tuning session (objective QPS, durability kept) tries TRIALS
    configurations. Then it measures the default, the rule-based and the best configuration alternately, in addition to
    TRIALS, until the result is certain. The printed statements are those of the winning configuration. Everything is
    stopped and removed at the end, even on Ctrl-C; --keep keeps the service's database.

    The default engine is embedded, with its load. The other engines have to be installed on this machine. They run in
    a separate folder, beside any running server, and sysbench generates the load. If something is missing, the demo
    says what to install.

    \b
    Examples:
      lutra demo                                   the embedded server, about ten minutes
      lutra demo --trials 8 --seconds 5            shorter
      lutra demo --trials 20 --json figures.json   longer, and the figures in a file
      lutra demo --keep demo                       and keep its readings, for `lutra notebook`
    """
    console = Console(highlight=False)
    store = None if keep is None else _kept_store(keep)
    signal.signal(signal.SIGTERM, _interrupt)
    folder = Path(tempfile.mkdtemp(prefix="lutra-demo-"))
    folder.chmod(0o755)  # the database server runs as a user of its own where we are root
    try:
        with Processes(folder) as processes:
            result = _run(console, processes, engine, trials, seconds, seed, store)
    except KeyboardInterrupt:
        console.print("\nstopped; nothing is left running")
        show.kept(console, store)
        sys.exit(130)
    except (DemoFailed, Problem, Unreachable) as error:
        console.print(f"[red]{error}[/]", soft_wrap=True)
        sys.exit(1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _hand_over(console, result, json_file, store)


def _hand_over(console: Console, result: dict[str, Any], json_file: Path | None, store: Path | None) -> None:
    if json_file:
        json_file.write_text(json.dumps(result, indent=1))
        console.print(f"\nfigures written to {json_file}")
    show.kept(console, store)


def _kept_store(folder: Path) -> Path:
    """Where the service's database is to stay. Raises ClickException if one is."""
    store = folder.resolve() / "lutra.db"
    if store.exists():
        raise click.ClickException(f"{store} is already a database: name a different folder, or remove it")
    folder.mkdir(parents=True, exist_ok=True)
    return store


def _run(
    console: Console, processes: Processes, engine: str, trials: int, seconds: int, seed: int, store: Path | None
) -> dict[str, Any]:
    started = time.monotonic()
    with console.status("starting") as status:
        stack = bring_up(processes, engine, seconds, status.update, store)
    server = stack.server
    console.print(
        f"{server['title']} {server['version']}, {server['load']}; {trials} trials of {seconds} s after "
        f"{server['driver']['warmup_s']} s of warm-up"
    )
    with console.status("measuring"):
        tuned = tune(stack, trials, ROUNDS, seed, show.Progress(console, trials))
    finished = [as_trial(row) for row in tuned.trials]
    found = tuned.verification
    show.comparison(console, found)
    console.print(tuned.measured_under, soft_wrap=True)
    show.record(console, finished)
    show.curve(console, tuned.handover["curve"] or [])
    show.statements(console, found["verdict"], statements_to(tuned.server, tuned.handover["configuration"]))
    console.print(f"\n[dim]{time.monotonic() - started:.0f} s in total[/]")
    about = {"engine": server["engine"], "engine_version": server["version"], "seed": seed}
    told = {"verdict": found["verdict"], "sentence": found["sentence"], "handed_over": tuned.handover["configuration"]}
    return {**about, "trials": finished, "table": show.as_table(found), **told}


def statements_to(server: Server, settings: dict[str, Any]) -> Sequence[ChangeSteps]:
    """The statements that lead from `server`, as it was before the session, to `settings`."""
    live = meet(server)
    return live.steps(live.changes(settings))


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
