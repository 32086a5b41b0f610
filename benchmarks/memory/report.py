"""`report`: the results that are there, as Markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from benchmarks.memory import beginning, effects, gain
from benchmarks.memory.gain import RESULTS
from benchmarks.tuning.markdown import missing, table
from benchmarks.tuning.rows import Row, read
from benchmarks.tuning.summary import latest

AT = (5, 10, 20)
DRAWS = 4000
Scores = dict[str, dict[str, dict[int, Sequence[float]]]]
"""By target, rule and seed."""


@dataclass(frozen=True)
class Compared:
    """A part whose rules of choosing from the past are compared, and which pairs of them."""

    name: str
    title: str
    rules: Sequence[str]
    targets: Sequence[str]
    pairs: Sequence[tuple[str, str]]


COMPARED = (
    Compared(
        "gain",
        "What the memory's choice adds",
        gain.RULES,
        gain.TARGETS,
        (("memory", "none"), ("memory", "newest"), ("strangers", "none"), ("newest", "none")),
    ),
    Compared(
        "beginning",
        "What the public tables add to a first session",
        beginning.RULES,
        beginning.TARGETS,
        (("public", "none"), ("strangers", "none")),
    ),
)


@click.command("report")
@click.option("--results", type=click.Path(file_okay=False, path_type=Path), default=RESULTS)
def report_command(results: Path) -> None:
    """Write RESULTS.md beside the results."""
    compared = [_compared(results, part) for part in COMPARED]
    parts = [*compared, _effects(results), _rows(results, "nearest"), _rows(results, "training")]
    text = "\n\n".join(["# Memory results", *parts])
    (results.parent / "RESULTS.md").write_text(text + "\n")
    click.echo(text)


def _compared(results: Path, part: Compared) -> str:
    found = read(results / f"{part.name}.jsonl")
    scores = complete(latest(found, ("budget",)), part.rules) if found else {}
    if not scores:
        return f"## {part.title}\n\n{missing(part.name)}"
    seeds = min(len(rules[part.rules[0]]) for rules in scores.values())
    said = (
        f"{len(scores)} targets, at least {seeds} seed{'s' if seeds > 1 else ''} each. Scores are of the configuration "
        "with the best reading, at its true value: 0 is the default's, 1 the best known. Differences with their "
        "bootstrap 90 % intervals: over seeds within each target, and over targets and seeds."
    )
    head = ["", *(f"@{k}" for k in AT)]
    differences = [[f"{a} − {b}", *(_difference(scores, a, b, k) for k in AT)] for a, b in part.pairs]
    each = [[t, *(_means(scores[t][rule]) for rule in part.rules)] for t in part.targets if t in scores]
    at = " / ".join(f"@{k}" for k in AT)
    parts = [f"## {part.title}", said, table(head, differences), f"Means {at}:"]
    return "\n\n".join([*parts, table(["target", *part.rules], each)])


def complete(rows: Sequence[Row], wanted: Sequence[str]) -> Scores:
    """The seeds of each target that were run by every rule."""
    out: Scores = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        out[row["target"]][row["rule"]][row["seed"]] = row["scores"]
    for target in list(out):
        common = set.intersection(*(set(out[target][rule]) for rule in wanted))
        out[target] = {rule: {s: out[target][rule][s] for s in sorted(common)} for rule in wanted}
        if not common:
            del out[target]
    return out


def _difference(scores: Scores, one: str, other: str, trial: int) -> str:
    rng = np.random.default_rng(0)
    gaps = [
        np.array([rules[one][s][trial - 1] - rules[other][s][trial - 1] for s in rules[one]])
        for rules in scores.values()
    ]
    mean = float(np.mean([g.mean() for g in gaps]))
    drawn = np.array([[rng.choice(g, len(g)).mean() for g in gaps] for _ in range(DRAWS)])
    picked = rng.integers(len(gaps), size=(DRAWS, len(gaps)))
    within = np.quantile(drawn.mean(1), [0.05, 0.95])
    over = np.quantile(np.take_along_axis(drawn, picked, 1).mean(1), [0.05, 0.95])
    return f"{mean:+.3f} [{within[0]:+.3f}, {within[1]:+.3f}], over targets [{over[0]:+.3f}, {over[1]:+.3f}]"


def _means(by_seed: dict[int, Sequence[float]]) -> str:
    return " / ".join(f"{np.mean([s[k - 1] for s in by_seed.values()]):.2f}" for k in AT)


def _effects(results: Path) -> str:
    rows, title = read(results / "effects.jsonl"), "## Whether certain effects are so in another sample"
    if not rows:
        return f"{title}\n\n{missing('effects')}"
    newest = latest(rows, ())
    halves, shuffled = ([r for r in newest if r["what"] == what] for what in (effects.HALVES, effects.SHUFFLED))
    settings, false = sum(r["settings"] for r in shuffled), sum(r["certain"] for r in shuffled)
    cost = 1000 * float(np.mean([r["processor_s"] for r in halves]))
    said = (
        f"{len(halves)} pairs of disjoint halves of the public tables, of 200 rows each. What a workload teaches of a "
        f"metric takes {cost:.0f} processor milliseconds beside its fit."
    )
    share, tables = 100 * false / max(settings, 1), sum(r["certain"] > 0 for r in shuffled)
    noise = (
        f"With shuffled readings {share:.2f} % of the settings did something for certain, over {len(shuffled)} "
        f"shuffles: {tables} of them had such a setting at all."
    )
    head = ["rule", "certain in a half", "same sign", "certain there", "in its interval", "either"]
    return "\n\n".join([title, said, table(head, list(effects.told(halves))), noise])


def _rows(results: Path, name: str) -> str:
    rows = read(results / f"{name}.jsonl")
    title = {"nearest": "## What asking costs", "training": "## What training takes"}[name]
    if not rows:
        return f"{title}\n\n{missing(name)}"
    newest = sorted({row["workloads"]: row for row in rows}.values(), key=lambda row: int(row["workloads"]))
    names = [n for n in newest[0] if n not in ("code", "at")]
    return f"{title}\n\n{table(names, [[str(row.get(n, '')) for n in names] for row in newest])}"
