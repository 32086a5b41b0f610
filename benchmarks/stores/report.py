"""The rounds of a study as a table. Ratios are within a round alone: the machine is another one an hour later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from benchmarks.lab.race.summary import gain
from benchmarks.lab.session import Row
from benchmarks.stores.studies import DEFAULT, Study
from benchmarks.tuning.rows import read

HEAD = "| entrant | p99, ms | against the default | QPS | against the default | peak, GiB | last fork, ms | moved |\n"
RULE = "|---|--:|--:|--:|--:|--:|--:|---|\n"


def table(study: Study, results: Path) -> str:
    rows = [r for r in read(results / f"{study.name}.jsonl") if r["kind"] == "round" and not r["failure"]]
    said = [_paired(rows, name, base) for base in dict.fromkeys((DEFAULT, study.against)) for name in study.entrants]
    return HEAD + RULE + "".join(_line(rows, name) for name in study.entrants) + "\n" + "".join(filter(None, said))


def _line(rows: Sequence[Row], name: str) -> str:
    own = [r for r in rows if r["entrant"] == name]
    if not own:
        return f"| {name} | | | | | | | not measured |\n"
    cells = [_middle(own, "p99_ms", "{:.2f}"), _against(rows, name, "p99_ms")]
    cells += [_middle(own, "qps", "{:,.0f}"), _against(rows, name, "qps")]
    cells += [_middle(own, "peak_memory_bytes", "{:.2f}", lambda v: v / 2**30)]
    cells += [_middle(own, "persistence.latest_fork_us", "{:.1f}", lambda v: v / 1000)]
    moved = ", ".join(f"`{n}` {v}" for n, v in own[-1]["moved"].items()) or "nothing"
    return f"| {name} | {' | '.join(cells)} | {moved} |\n"


def _paired(rows: Sequence[Row], name: str, base: str) -> str:
    """How much lower p99 is than `base`'s in the same rounds, with its 90 % interval; nothing for fewer than two."""
    found = gain(_by_round(rows, name, "p99_ms"), _by_round(rows, base, "p99_ms"), larger_is_better=False)
    if name == base or found is None or found.low is None or found.high is None:
        return ""
    return f"- p99 of {name}, a gain over {base}: {found.mean:+.0%} [{found.low:+.0%}, {found.high:+.0%}]\n"


def _by_round(rows: Sequence[Row], name: str, metric: str) -> dict[int, float]:
    return {r["number"]: r["metrics"][metric] for r in rows if r["entrant"] == name}


def _middle(rows: Sequence[Row], metric: str, form: str, scaled: Callable[[float], float] = float) -> str:
    found = [r["metrics"][metric] for r in rows if metric in r["metrics"]]
    return form.format(scaled(median(found))) if found else ""


def _against(rows: Sequence[Row], name: str, metric: str) -> str:
    """The median of the rounds' ratios, and the least and the largest of them."""
    base = _by_round(rows, DEFAULT, metric)
    found = sorted(v / base[n] for n, v in _by_round(rows, name, metric).items() if n in base)
    return f"{median(found):.2f} ({found[0]:.2f}–{found[-1]:.2f})" if found else ""
