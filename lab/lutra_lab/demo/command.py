"""`lutra demo`."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Any

import click
import httpx
from rich.console import Console

from lutra_lab.demo import show
from lutra_lab.demo.processes import DemoFailed, Processes
from lutra_lab.demo.stack import Stack, bring_up, post
from lutra_lab.demo.tuning import as_trial, measure, targets, tune
from lutra_lab.scratch import scratch_servers

REPETITIONS = 3
ENGINES = [kind.engine for kind in scratch_servers()]


@click.command()
@click.option("--engine", default=ENGINES[0], show_default=True, type=click.Choice(ENGINES), help="What to tune.")
@click.option("--trials", default=10, show_default=True, type=click.IntRange(3, 200), help="Trials of the session.")
@click.option("--seconds", default=6, show_default=True, type=click.IntRange(2, 600), help="Measured seconds a trial.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Same seed, same search.")
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures here.")
def demo(engine: str, trials: int, seconds: int, seed: int, json_file: Path | None) -> None:
    """Tune a real database server from start to end, on this machine, in about five minutes.

    Starts a server in a scratch folder, the service, and an agent in lab mode whose load writes to more data than the
    server's default cache holds. A tuning session (objective QPS, durability kept) tries TRIALS configurations; then
    the default, the rule-based and the best one are measured again in turn. Everything is stopped and removed at the
    end, also on Ctrl-C.

    The default engine comes embedded, with its load. The others are taken as this machine has them installed, in a
    folder of their own and beside whatever runs already, and are loaded by sysbench; where something is missing, the
    demo says what to install.

    \b
    Examples:
      lutra demo                                   the embedded server, about five minutes
      lutra demo --trials 8 --seconds 5            shorter
      lutra demo --trials 20 --json figures.json   longer, and the figures in a file
    """
    console = Console(highlight=False)
    signal.signal(signal.SIGTERM, _interrupt)
    folder = Path(tempfile.mkdtemp(prefix="lutra-demo-"))
    folder.chmod(0o755)  # the database server runs as a user of its own where we are root
    try:
        with Processes(folder) as processes:
            result = _run(console, processes, engine, trials, seconds, seed)
    except KeyboardInterrupt:
        console.print("\nstopped; nothing is left running")
        sys.exit(130)
    except (DemoFailed, httpx.TransportError) as error:
        console.print(f"[red]{error}[/]", soft_wrap=True)
        sys.exit(1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if json_file:
        json_file.write_text(json.dumps(result, indent=1))
        console.print(f"\nfigures written to {json_file}")


def _run(console: Console, processes: Processes, engine: str, trials: int, seconds: int, seed: int) -> dict[str, Any]:
    started = time.monotonic()
    with console.status("starting") as status:
        stack = bring_up(processes, engine, seconds, status.update)
    server = stack.server
    console.print(
        f"{server['title']} {server['version']}, {server['load']}; {trials} trials of {seconds} s after "
        f"{server['driver']['warmup_s']} s of warm-up"
    )
    with console.status("measuring"):
        rows, handover = tune(stack, trials, seed, show.Progress(console, trials))
    finished = [as_trial(row) for row in rows]
    table, changes = _compare(console, stack, rows, handover)
    show.comparison(console, table)
    show.record(console, finished)
    show.curve(console, handover["curve"])
    show.statements(console, changes)
    console.print(f"\n[dim]{time.monotonic() - started:.0f} s in all[/]")
    about = {"engine": server["engine"], "engine_version": server["version"], "seed": seed}
    return {**about, "trials": finished, "table": table}


def _compare(
    console: Console, stack: Stack, rows: list[dict[str, Any]], handover: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Default, rule-based and best in turn, three times over; and the statements from the default to the best."""
    default = rows[0]["configuration"]
    rules = next((r["configuration"] for r in rows if r["origin"] == "rule_based"), default)
    contenders = {"default": default, "rule-based": rules, "best": handover["configuration"]}
    table: list[dict[str, Any]] = [{"name": n, "configuration": c, "measured": []} for n, c in contenders.items()]
    changes: list[dict[str, Any]] = []
    total = REPETITIONS * len(table)
    with console.status("") as status:
        for i in range(total):
            row = table[i % len(table)]
            status.update(f"measuring again in turn: {row['name']} ({i + 1} of {total})")
            done = measure(stack, row["configuration"])
            row["measured"].append(targets(done["measured"]))
            if row["name"] == "default":
                changes = statements_to(stack, handover["configuration"])
    return table, changes


def statements_to(stack: Stack, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """The statements that lead from what is active now to `settings`."""
    asked = post(stack.client, f"/v1/databases/{stack.database}/predictions", {"settings": settings})
    changes: list[dict[str, Any]] = asked["changes"]
    return changes


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
