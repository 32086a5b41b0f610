"""The report's sections about scores: cold and safe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.tuning.markdown import missing, table
from benchmarks.tuning.named import CHOSEN_ON
from benchmarks.tuning.rows import Row
from benchmarks.tuning.summary import (
    AT,
    BUDGET,
    COMPARED_AT,
    EARLY,
    best_peer,
    difference,
    first_trial_at,
    grouped,
    race_rows,
    scores,
)


def cold(results: Path) -> str:
    by_task = grouped(race_rows(results), "task")
    lines = [
        "## From the default configuration",
        "",
        "0 is the default's true value, 1 the best known. The score after a trial is that of the configuration with "
        "the best reading so far. ± is the standard deviation over seeds. Failures and unsafe trials are per run of "
        f"{BUDGET}.",
        "",
        "![score over trials](figures/race.svg)",
        "",
    ]
    for (task,), rows in by_task.items():
        lines += [f"### {task}", "", _race_table(rows), ""]
    return "\n".join([*lines, *_against_peers(by_task)])


def _race_table(rows: Sequence[Row]) -> str:
    by_optimiser = grouped(rows, "optimiser")
    ordered = sorted(by_optimiser.items(), key=lambda item: -float(scores(item[1], BUDGET).mean()))
    body = []
    for (optimiser,), runs in ordered:
        means = [f"{scores(runs, k).mean():.3f}" for k in AT]
        means[-1] += f" ±{scores(runs, BUDGET).std():.3f}"
        handed = [row["handed"][-1] for row in runs if row["handed"]]
        body.append(
            [
                optimiser,
                str(len(runs)),
                *means,
                f"{np.mean(handed):.3f}" if handed else "",
                *(f"{np.mean([row[f] for row in runs]):.1f}" for f in ("failures", "unsafe")),
                f"{np.mean([row['ask_s'] for row in runs]):.2f}",
            ]
        )
    head = ["optimiser", "seeds", *(f"@{k}" for k in AT), "handed over", "failures", "unsafe", "s per suggestion"]
    return table(head, body)


Pair = tuple[np.ndarray, np.ndarray]
"""(seeds,) scores of ours and of the best peer's."""


def _against_peers(by_task: dict[tuple[str, ...], list[Row]]) -> list[str]:
    body: list[list[str]] = []
    pairs: dict[str, dict[int, Pair]] = {}
    reached: dict[str, int | None] = {}
    for (task,), rows in by_task.items():
        by_optimiser = {name: runs for (name,), runs in grouped(rows, "optimiser").items()}
        if "lutra" not in by_optimiser:
            continue
        peer, ours = best_peer(by_optimiser), by_optimiser["lutra"]
        pairs[task] = {k: (scores(ours, k), scores(by_optimiser[peer], k)) for k in COMPARED_AT}
        reached[task] = first_trial_at(ours, float(scores(by_optimiser[peer], BUDGET).mean()))
        each = [f"{one.mean() - other.mean():+.3f}" for one, other in pairs[task].values()]
        body.append([task, _use(task in CHOSEN_ON), peer, *each, str(reached[task] or "not reached")])
    if not body:
        return [missing("race")]
    head = [
        "table",
        "method",
        "best peer",
        *(f"difference @{k}" for k in COMPARED_AT),
        f"reaches its @{BUDGET} at trial",
    ]
    return [
        "### Against each table's best peer",
        "",
        "With a bootstrap 90 % interval over seeds. Methods are chosen on some tables and confirmed on the others.",
        "",
        table(head, [*body, *_averages(pairs, reached)]),
    ]


def _averages(pairs: dict[str, dict[int, Pair]], reached: dict[str, int | None]) -> list[list[str]]:
    """A line for the tables chosen on, one for those confirmed on, one for all."""
    chosen = [task for task in pairs if task in CHOSEN_ON]
    confirmed = [task for task in pairs if task not in CHOSEN_ON]
    body = []
    for name, tasks in ((_use(True), chosen), (_use(False), confirmed), ("all", list(pairs))):
        if not tasks:
            continue
        early = sum((reached[task] or BUDGET + 1) <= EARLY for task in tasks)
        means = [str(difference([pairs[task][k] for task in tasks])) for k in COMPARED_AT]
        body.append(["**average**", name, "", *means, f"by {EARLY} on {early} of {len(tasks)}"])
    return body


def _use(chosen: bool) -> str:
    return "chosen on" if chosen else "confirmed on"


def safe(results: Path) -> str:
    by_run = grouped(race_rows(results), "task", "optimiser")
    body = []
    for (task, optimiser), held in by_run.items():
        free = by_run.get((task, "lutra"))
        if optimiser != "lutra-safe" or not free:
            continue
        per_hundred = [100 * float(np.mean([r["unsafe"] for r in runs])) / BUDGET for runs in (held, free)]
        gains = [float(scores(runs, BUDGET).mean()) for runs in (held, free)]
        shares = [per_hundred[0] / per_hundred[1] if per_hundred[1] else 0.0, gains[0] / gains[1]]
        body.append([task, str(len(held)), *(f"{u:.1f}" for u in per_hundred), *(f"{s:.0%}" for s in shares)])
    said = (
        "A trial is unsafe where it fails or its true value is worse than the default's by more than a tenth. The gain "
        f"is the score after {BUDGET} trials."
    )
    head = ["table", "seeds", "unsafe of 100, safe", "unconstrained", "share of unsafe trials", "share of gain"]
    return "\n".join(["## Safe mode", "", said, "", table(head, body) if body else missing("safe")])
