"""A hostile service against real agents on real servers: nothing forbidden active, every change taken back in time.

One process per engine, the modes in turn. The clock is simulated: sleeps take a fiftieth of their time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmarks.attacks import hostile_run
from benchmarks.attacks.stores import out_option
from benchmarks.attacks.verdicts import Verdict, conclude, table
from benchmarks.attacks.watching import Worker

MOST_GROWTH_MB = 100
LONGEST_S = 3600.0


@click.command()
@click.option("--hours", default=1.0, show_default=True, help="Of simulated time, for each mode.")
@click.option("--engine", "engines", multiple=True, type=click.Choice(hostile_run.ENGINES), help="[default: all]")
@click.option("--mode", "modes", multiple=True, type=click.Choice(hostile_run.MODES), help="[default: all]")
@click.option("--seed", default=1, show_default=True)
@click.option("--at-once", default=2, show_default=True, help="Engines.")
@out_option
def main(
    hours: float, engines: tuple[str, ...], modes: tuple[str, ...], seed: int, at_once: int, out: Path | None
) -> None:
    """Agents under a service that lies, drips, floods and hangs."""
    engines, modes = engines or hostile_run.ENGINES, modes or hostile_run.MODES
    found: list[dict[str, Any]] = []
    for first in range(0, len(engines), at_once):
        workers = [Worker(hostile_run.run, e, modes, hours, seed) for e in engines[first : first + at_once]]
        for worker in workers:
            found += worker.finished(LONGEST_S)
    for run in found:
        show(run)
    conclude("hostile_service", [v for run in found for v in judged(run)], {"seed": seed, "runs": found}, out)


def show(run: dict[str, Any]) -> None:
    print(f"\n{run['engine']}, {run['mode']}: {run['simulated_s']} simulated seconds in {run['cycles']} cycles")
    offered, answered = run["offered"], run["outcomes"]
    rows = [
        (kind, offered.get(kind, ""), ", ".join(f"{code} {n}" for code, n in sorted(answered.get(kind, {}).items())))
        for kind in sorted({*offered, *answered})
    ]
    print(table(("directive", "offered", "what the agent did"), rows))
    print("answers:", ", ".join(f"{name} {number}" for name, number in sorted(run["answers"].items())))
    print(f"traffic collapsed after {run['collapsed']} changes; the server was away in {run['server_away']} cycles")
    for story in run["stories"][:40]:
        print("  ", story)


def judged(run: dict[str, Any]) -> list[Verdict]:
    where = f"{run['engine']}, {run['mode']}"
    stories, grew = run["stories"], run["grew_mb"]
    return [
        Verdict(f"{where}: the agent keeps its file", f"{len(stories)} faults", "none", not stories),
        Verdict(f"{where}: memory", f"grew {grew} MB", f"< {MOST_GROWTH_MB} MB", grew < MOST_GROWTH_MB),
    ]


if __name__ == "__main__":
    main(prog_name="python -m benchmarks attacks hostile_service")
