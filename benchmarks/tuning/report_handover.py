"""The report's part about what is handed over."""

from __future__ import annotations

from pathlib import Path

from benchmarks.tuning.handover import summary
from benchmarks.tuning.markdown import missing, table
from benchmarks.tuning.rows import read
from benchmarks.tuning.summary import grouped, latest


def handover(results: Path) -> str:
    rows = latest(read(results / "handover.jsonl"), ("task",))
    title = "## What is handed over"
    if not rows:
        return f"{title}\n\n{missing('handover')}"
    body = []
    for (task, trials), runs in grouped(rows, "task", "trials").items():
        told = summary(runs)
        counts = [f"{told['full_settings']:.0f}", f"{told['settings']:.0f}"]
        gains = [f"{told['full_gain']:.3f}", f"{told['gain']:.3f}", f"{told['share']:.0%}"]
        body.append([task, str(trials), str(len(runs)), *counts, *gains])
    said = (
        "After so many trials, the settings that the best measured configuration changes of the default (full) and "
        "those that are handed over (short): medians over the seeds. Gains are true ones, as mean scores: 0 is the "
        "default, 1 the best known. The share is the short ones' gain over the full ones'."
    )
    head = ["table", "trials", "seeds", "settings, full", "short", "gain, full", "short", "share"]
    return "\n".join([title, "", said, "", table(head, body)])
