"""Generated requests over six scopes and two stores: no 5xx, nothing undocumented, no reach into another database."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from benchmarks.attacks.fuzz_world import SCOPES
from benchmarks.attacks.fuzzing import Findings, fuzz
from benchmarks.attacks.stores import LIFTED, STORES, env_option, environment, out_option, stored
from benchmarks.attacks.verdicts import Verdict, conclude, table

FOREIGN = (
    "foreign database reached",
    "foreign database changed",
    "foreign name in the answer",
    "foreign id in the answer",
    "let in without a token",
)
BROKEN = ("5xx", "no answer", "the service ended")
SHOWN = 60


@click.command()
@click.option("--requests", default=50_000, show_default=True, help="Over all scopes and stores.")
@click.option("--store", "stores", multiple=True, type=click.Choice(STORES), help="[default: both]")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="[default: all]")
@click.option("--connections", default=6, show_default=True)
@click.option("--seed", default=1, show_default=True)
@env_option
@out_option
def main(
    requests: int,
    stores: tuple[str, ...],
    scopes: tuple[str, ...],
    connections: int,
    seed: int,
    env: tuple[str, ...],
    out: Path | None,
) -> None:
    """Requests made by the service's own OpenAPI document, right ones and odd ones."""
    stores, scopes = stores or STORES, scopes or SCOPES
    per_scope = -(-requests // (len(stores) * len(scopes)))
    found: dict[str, Findings] = {}
    for store in stores:
        began = time.monotonic()
        with stored(store, {**LIFTED, **environment(env)}) as made:
            found[store] = fuzz(made.served, scopes, per_scope, seed, connections)
        taken = time.monotonic() - began
        print(
            f"{store}: {found[store].requests} requests in {taken:.0f} s, {found[store].requests / taken:.0f} a second"
        )
        show(found[store])
    conclude("fuzz", judged(found), {"seed": seed, "per_scope": per_scope, **figures(found)}, out)


def show(findings: Findings) -> None:
    rows = [(scope, ", ".join(f"{s} {n}" for s, n in sorted(c.items()))) for scope, c in findings.statuses.items()]
    print(table(("scope", "statuses"), rows))
    ordered = sorted(findings.faults.values(), key=lambda fault: (fault["kind"], -fault["times"]))
    for fault in ordered[:SHOWN]:
        print(f"  {fault['times']:5}× {fault['kind']}, {fault['scope']}: {fault['where']}: {fault['detail'][:150]}")
        print(f"         {fault['request'][:250]}")


def judged(found: dict[str, Findings]) -> list[Verdict]:
    verdicts = []
    for store, findings in found.items():
        every = findings.counted()
        for what, number in (
            ("5xx, or no answer", findings.counted(*BROKEN)),
            ("undocumented answers", every - findings.counted(*BROKEN, *FOREIGN)),
            ("reach into another database", findings.counted(*FOREIGN)),
        ):
            verdicts.append(Verdict(f"{store}: {what}", f"{number} of {findings.requests}", "0", number == 0))
    return verdicts


def figures(found: dict[str, Findings]) -> dict[str, Any]:
    return {
        store: {
            "requests": findings.requests,
            "statuses": {scope: dict(counted) for scope, counted in findings.statuses.items()},
            "faults": list(findings.faults.values()),
        }
        for store, findings in found.items()
    }


if __name__ == "__main__":
    main(prog_name="python -m benchmarks attacks fuzz")
