"""The report's section about past workloads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.tuning.markdown import missing, table
from benchmarks.tuning.rows import Row, read
from benchmarks.tuning.summary import BUDGET, first_trial_at, grouped, latest, scores
from benchmarks.tuning.warm import PASTS
from benchmarks.tuning.workloads import OFFERED, TARGETS, Target

_TITLE = "## With past workloads"
_AT = (3, 6, 10, 30, 50)
_LATE = range(10, BUDGET + 1)
_AIM = 30
"""The trial whose cold score past workloads should reach …"""
_BY = 6
"""… by this one."""


def warm(results: Path) -> str:
    rows = latest([r for r in read(results / "warm.jsonl") if r["budget"] == BUDGET], ("target", "past"))
    by_run = grouped(rows, "target", "past")
    targets = [t for t in TARGETS if all((t.name, past) in by_run for past in PASTS)]
    if not targets:
        return f"{_TITLE}\n\n{missing('warm')}"
    body = [_line(target, past, by_run) for target in targets for past in PASTS]
    head = ["target", "method", "past", "seeds", *(f"@{k}" for k in _AT)]
    head += [f"mean over {_LATE[0]}–{BUDGET} against cold", f"cold's @{_AIM} at trial"]
    said = (
        f"Each target is tuned with no past workload, with {OFFERED} offered (one of them related to it, the others "
        "strangers), and with the strangers alone. Methods were chosen on some targets and are confirmed on the others."
    )
    return "\n".join([_TITLE, "", said, "", table(head, body), "", *_summary(targets, by_run)])


def _line(target: Target, past: str, by_run: dict[tuple[str, ...], list[Row]]) -> list[str]:
    runs, cold = by_run[target.name, past], by_run[target.name, "none"]
    use = "chosen on" if target.chosen_on else "confirmed on"
    means = [f"{scores(runs, k).mean():.3f}" for k in _AT]
    reached = first_trial_at(runs, _aim(cold))
    return [target.name, use, past, str(len(runs)), *means, f"{_late(runs, cold):+.3f}", str(reached or "not reached")]


def _summary(targets: Sequence[Target], by_run: dict[tuple[str, ...], list[Row]]) -> list[str]:
    lines = []
    for past in PASTS[1:]:
        runs = {t.name: by_run[t.name, past] for t in targets}
        cold = {t.name: by_run[t.name, "none"] for t in targets}
        gains = {name: _late(runs[name], cold[name]) for name in runs}
        early = sum((first_trial_at(runs[name], _aim(cold[name])) or BUDGET + 1) <= _BY for name in runs)
        worst = min(gains, key=lambda name: gains[name])
        lines.append(
            f"- {past}: cold's @{_AIM} by trial {_BY} on {early} of {len(runs)} targets; against cold "
            f"{np.mean(list(gains.values())):+.3f} on average, at the least {gains[worst]:+.3f} ({worst})."
        )
    return lines


def _aim(cold: Sequence[Row]) -> float:
    return float(scores(cold, _AIM).mean())


def _late(runs: Sequence[Row], cold: Sequence[Row]) -> float:
    return float(np.mean([scores(runs, k).mean() - scores(cold, k).mean() for k in _LATE]))
