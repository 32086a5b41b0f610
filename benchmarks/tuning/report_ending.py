"""The report's part about windows that are ended early."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.tuning.markdown import missing, table
from benchmarks.tuning.rows import Row, read
from benchmarks.tuning.summary import grouped, latest


def ending(results: Path) -> str:
    rows = latest(read(results / "ending.jsonl"), ("task",))
    title = "## Windows that are ended early"
    if not rows:
        return f"{title}\n\n{missing('ending')}"
    found = [
        _line(f"{task}, {trials} trials", runs) for (task, trials), runs in grouped(rows, "task", "trials").items()
    ]
    said = (
        "Sessions that end early what cannot become the best, against the same that measure every window to its end: "
        "changes, warm-ups and windows together, verification left out. Scores are of what is handed over, and of the "
        "best reading; differences with their standard error over the seeds. Held is the share of bounds that the "
        "whole window kept; missed are windows that would have come to their level."
    )
    head = ["table", "seeds", "saved", "score, whole", "difference", "by best reading", "ended", "held", "missed"]
    return "\n".join([title, "", said, "", table(head, [*found, _line("all", rows)])])


def _line(name: str, rows: list[Row]) -> list[str]:
    arms = {
        arm: {(r["task"], r["seed"], r["trials"]): r for r in runs} for (arm,), runs in grouped(rows, "arm").items()
    }
    whole, early = arms["whole"], arms["ended"]
    both = [(whole[key], early[key]) for key in whole if key in early]
    saved = 1 - sum(e["seconds"][-1] for _, e in both) / sum(w["seconds"][-1] for w, _ in both)
    score = float(np.mean([w["score"] for w, _ in both]))
    apart = [_difference([e[name] - w[name] for w, e in both]) for name in ("score", "best")]
    ended, held, missed = (sum(e[name] for _, e in both) for name in ("ended", "held", "missed"))
    share = f"{held / ended:.0%}" if ended else ""
    return [name, str(len(both)), f"{saved:.0%}", f"{score:.3f}", *apart, str(ended), share, str(missed)]


def _difference(values: list[float]) -> str:
    return f"{np.mean(values):+.3f} ± {np.std(values) / max(len(values) - 1, 1) ** 0.5:.3f}"
