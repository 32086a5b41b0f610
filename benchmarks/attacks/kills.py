"""SIGKILL under load, on both stores: nothing that was acknowledged is lost, nothing exists twice.

Killed in batches of a fresh service each; a batch is a row of the file, so that a run that was interrupted goes on.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click

from benchmarks.attacks import kills_run
from benchmarks.attacks.stores import STORES
from benchmarks.attacks.verdicts import Verdict, append_row, conclude, table

BATCH = 20


@click.command()
@click.option("--kills", default=200, show_default=True, help="Over all stores.")
@click.option("--store", "stores", multiple=True, type=click.Choice(STORES), help="[default: both]")
@click.option("--batch", default=BATCH, show_default=True, help="Kills of one service before everything is counted.")
@click.option("--seed", default=1, show_default=True)
@click.option(
    "--rows", type=click.Path(path_type=Path), help="Batches are kept here, and those there are not run again."
)
def main(kills: int, stores: tuple[str, ...], batch: int, seed: int, rows: Path | None) -> None:
    """The API process, its workers, its store and an agent, killed in random order."""
    stores = stores or STORES
    found = _kept(rows)
    for store in stores:
        wanted = kills // len(stores)
        while (left := wanted - _killed(found, store)) > 0:
            number = sum(row["store"] == store for row in found)
            made = kills_run.run(store, min(batch, left), seed + 1000 * number)
            found.append(made)
            if rows is not None:
                append_row(rows, made)
    shown = [row for row in found if row["store"] in stores]
    show(shown)
    conclude("kills", judged(shown), {"batches": shown}, None)


def show(found: list[dict[str, Any]]) -> None:
    heads = ("store", "kills", "acknowledged", "asked again", "seconds", "lost", "doubled")
    rows = [
        (
            row["store"],
            _words(row["kills"]),
            _words(row["acknowledged"]),
            row["repeated"],
            row["seconds"],
            len(row["lost"]),
            len(row["doubled"]),
        )
        for row in found
    ]
    print(table(heads, rows))
    for row in found:
        for kind in ("lost", "doubled", "unexpected"):
            print("".join(f"  {kind}: {text}\n" for text in row[kind][:20]), end="")


def judged(found: list[dict[str, Any]]) -> list[Verdict]:
    verdicts = []
    for store in sorted({row["store"] for row in found}):
        rows = [row for row in found if row["store"] == store]
        total: Counter[str] = Counter()
        for row in rows:
            total.update(row["acknowledged"])
        for kind in ("lost", "doubled", "unexpected"):
            number = sum(len(row[kind]) for row in rows)
            said = f"{number} of {total.total()} after {_killed(rows, store)} kills"
            verdicts.append(Verdict(f"{store}: {kind}", said, "0", number == 0))
    return verdicts


def _killed(found: list[dict[str, Any]], store: str) -> int:
    return sum(sum(row["kills"].values()) for row in found if row["store"] == store)


def _kept(rows: Path | None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in rows.read_text().splitlines()] if rows is not None and rows.exists() else []


def _words(counted: dict[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counted.items())


if __name__ == "__main__":
    main(prog_name="python -m benchmarks attacks kills")
